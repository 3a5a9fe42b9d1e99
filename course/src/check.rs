//! What `warpfold check` looks at: a launch on the emulator, to be run under its sanitizers and in many orders.

use crate::case::Case;
use std::sync::Arc;
use warpfold::device::Argument;
use warpfold_emulator::{
    Finding, Kernel, Launch, LaunchError, Memory, Module, Order, Program, Space, Tool, check,
    compare_orders,
};

/// The greatest distance from the beginning of a buffer, in bytes, at which an access still counts as one to that buffer.
const FARTHEST: u64 = 1 << 36;

/// A launch with everything it needs. Checks leave it as it was, so that they may be repeated.
#[derive(Debug)]
pub struct Subject {
    kernel: Arc<Kernel>,
    memory: Memory,
    launch: Launch,
    arguments: Vec<Vec<u8>>,
    any_order: bool,
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
            any_order: false,
        }
    }

    /// The same for a launch whose results may differ from order to order. Such differences are then no findings.
    #[must_use]
    pub fn with_results_in_any_order(self, any_order: bool) -> Self {
        Self { any_order, ..self }
    }

    /// The launch of a case, with the kernel in this module. Buffers that the kernel only writes are uninitialised.
    ///
    /// # Errors
    /// The kernel is refused, or the module lacks it.
    pub fn of_case(module: &Arc<Module>, case: &Case<'_>) -> Result<Self, LaunchError> {
        let mut memory = Memory::new();
        let kernel = Program::load(Arc::clone(module), &mut memory)?.kernel(case.entry)?;
        let mut arguments = Vec::new();
        for argument in &case.arguments {
            arguments.push(match (argument.buffer(), argument.number()) {
                (Some((bytes, contents)), _) => {
                    let address = memory.allocate(bytes)?;
                    if let Some(contents) = contents {
                        memory.write(address, contents)?;
                    }
                    address.to_le_bytes().to_vec()
                }
                (None, number) => number.map(Argument::to_bytes).unwrap_or_default(),
            });
        }
        let launch = Launch {
            grid: case.shape.grid,
            block: case.shape.block,
            dynamic_shared_bytes: case.shape.dynamic_shared_bytes,
            nesting: case.shape.nesting(),
            cooperative: case.shape.cooperative,
            ..Launch::default()
        };
        Ok(Self::new(kernel, memory, launch, arguments))
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The shape of the launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Stops every launch after this many warp instructions; 0 sets no limit.
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
        if !self.any_order {
            return self.compare(orders);
        }
        // Nothing to compare, but each order may lead to a trap.
        let mut findings = orders
            .into_iter()
            .map(|order| self.compare([order]).transpose());
        findings.find_map(|finding| finding).transpose()
    }

    fn compare(
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

    /// The argument whose buffer a finding is about, counted from 0, and the offset in that buffer in bytes. The memory of the
    /// finding lies in the buffer or not too far past its end.
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
        let offset = memory.address - base;
        if offset > FARTHEST {
            return None;
        }
        let pointer = base.to_le_bytes();
        let argument = self
            .arguments
            .iter()
            .position(|argument| argument[..] == pointer)?;
        Some((argument, offset))
    }
}
