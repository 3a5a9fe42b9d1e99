//! The widest vector instructions that the processor has.

/// Something to compute, in a method that is inlined wherever it is called, with all that it calls: it then consists of the
/// instructions that its caller may use.
pub trait Task {
    /// What it gives.
    type Output;

    /// Computes it.
    fn run(self) -> Self::Output;
}

/// Runs a task by AVX2 and fused multiply-adds where the processor has them, and by what every processor has elsewhere.
#[inline]
pub fn widest<J: Task>(task: J) -> J::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,f16c,fma,lzcnt,popcnt")]
        fn by_avx2<J: Task>(task: J) -> J::Output {
            task.run()
        }
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            // SAFETY: the processor has all of these.
            return unsafe { by_avx2(task) };
        }
    }
    task.run()
}
