//! What `warpfold check` looks at: a launch on the emulator, to be run under its sanitizers and in many orders.

use crate::lesson::LessonError;
use crate::reducible::Reducible;
use std::sync::Arc;
use warpfold_emulator::{
    Finding, Kernel, Launch, LaunchError, Memory, Module, Order, Program, Space, Tool, check,
    compare_orders,
};
use warpfold_kernels::catalogue::Lesson;

/// A launch with everything it needs. Checks leave it as it was, so that they may be repeated.
#[derive(Debug)]
pub struct Subject {
    kernel: Arc<Kernel>,
    memory: Memory,
    launch: Launch,
    arguments: Vec<Vec<u8>>,
}

/// Why a lesson has no launch to check.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The lesson cannot be launched so.
    #[error(transparent)]
    Lesson(#[from] LessonError),
    /// The PTX, the memory or the launch is refused.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// There is nothing to launch.
    #[error("no elements take no launch, so that there is nothing to check; use -n 1 or more")]
    NothingToLaunch,
}

impl Subject {
    /// A launch of a compiled kernel; `memory` is that of its program, with the buffers that the arguments point to.
    pub fn new(
        kernel: Arc<Kernel>,
        memory: Memory,
        launch: Launch,
        arguments: Vec<Vec<u8>>,
    ) -> Self {
        Self {
            kernel,
            memory,
            launch,
            arguments,
        }
    }

    /// The launch by which a lesson reduces `values`. Its partials are uninitialised, as those of a careful host may be.
    ///
    /// # Errors
    /// A type, a block size or a number of elements that the lesson does not take; PTX that lacks it.
    pub fn of_lesson<T: Reducible>(
        ptx: &str,
        lesson: &Lesson,
        block: u32,
        values: &[T],
    ) -> Result<Self, SubjectError> {
        let shape = crate::lesson::shape::<T>(lesson, block, values.len())?;
        if shape.blocks == 0 {
            return Err(SubjectError::NothingToLaunch);
        }
        let mut memory = Memory::new();
        let module = Module::parse(ptx).map_err(LaunchError::from)?;
        let kernel = Program::load(module, &mut memory)?.kernel(shape.entry)?;
        let mut allocate = |bytes| memory.allocate(bytes).map_err(LaunchError::from);
        let input = allocate(size_of_val(values))?;
        let partials = allocate(shape.blocks as usize * size_of::<T>())?;
        memory
            .write(input, bytemuck::cast_slice(values))
            .map_err(LaunchError::from)?;
        let launch = Launch {
            grid: [shape.blocks, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
            threads: 0,
            max_steps: 0,
            cooperative: false,
        };
        let arguments = [input, partials, values.len() as u64];
        let arguments = arguments.map(|argument| argument.to_le_bytes().to_vec());
        Ok(Self::new(kernel, memory, launch, arguments.to_vec()))
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The shape of the launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Stops every launch after so many warp instructions; 0 sets no limit.
    pub fn limit_steps(&mut self, max_steps: u64) {
        self.launch.max_steps = max_steps;
    }

    /// Runs the launch once under the tools.
    ///
    /// # Errors
    /// A launch that no device would take, or that exceeds its limit of steps.
    pub fn check(&mut self, tools: &[Tool]) -> Result<Vec<Finding>, LaunchError> {
        check(
            &self.kernel,
            &mut self.memory,
            &self.launch,
            &self.arguments,
            tools,
        )
    }

    /// Runs the launch once in each order and compares what it leaves in memory.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn compare_orders(
        &mut self,
        orders: impl IntoIterator<Item = Order>,
    ) -> Result<Option<Finding>, LaunchError> {
        compare_orders(
            &self.kernel,
            &mut self.memory,
            &self.launch,
            &self.arguments,
            orders,
        )
    }

    /// The argument whose buffer a finding's memory lies in, counted from 0, and the offset in bytes.
    pub fn argument_of(&self, finding: &Finding) -> Option<(usize, u64)> {
        let memory = finding.memory?;
        if !matches!(memory.space, Space::Global | Space::Generic) {
            return None;
        }
        let (base, _) = self
            .memory
            .allocations()
            .take_while(|&(base, _)| base <= memory.address)
            .last()?;
        let pointer = base.to_le_bytes();
        let argument = self
            .arguments
            .iter()
            .position(|argument| argument[..] == pointer)?;
        Some((argument, memory.address - base))
    }
}
