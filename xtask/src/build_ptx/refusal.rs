//! What `ptxas` is right to refuse.

use std::path::PathBuf;

use cuda_builder::CudaBuilderError;

/// The end of the complaint about a kernel that waits for a grid it has launched.
const WAIT: &str = "Unsupported Function 'cudaDeviceSynchronize' on arch 'sm_90' or higher";

/// Passes on what `ptxas` says about a file, or `instead` where it refuses the file for this alone: from sm_90 on no kernel waits
/// for a grid that it has launched, and one is kept that does.
pub fn unless_expected<T>(
    judged: Result<T, CudaBuilderError>,
    instead: impl FnOnce(PathBuf) -> T,
) -> Result<T, CudaBuilderError> {
    match judged {
        Err(CudaBuilderError::PtxasFailed { path, message, .. }) if is_expected(&message) => {
            println!(
                "{}: ptxas refuses `cudaDeviceSynchronize`, as it should from sm_90 on, and judges nothing after it",
                path.display()
            );
            Ok(instead(path))
        }
        judged => judged,
    }
}

/// Whether all that a report complains of is the wait.
fn is_expected(report: &str) -> bool {
    let mut complaints = report
        .lines()
        .filter(|line| line.contains("error   :") || line.contains("fatal   :"))
        .filter(|line| !line.ends_with("Ptx assembly aborted due to errors"))
        .peekable();
    complaints.peek().is_some() && complaints.all(|line| line.ends_with(WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word for word what ptxas 12.9 prints of `nested.sm_90.ptx`.
    const REPORT: &str = "\
ptxas nested.sm_90.ptx, line 376; fatal   : Unsupported Function 'cudaDeviceSynchronize' on arch 'sm_90' or higher
ptxas fatal   : Ptx assembly aborted due to errors";

    fn judge(message: &str) -> Result<PathBuf, CudaBuilderError> {
        let refused = CudaBuilderError::PtxasFailed {
            ptxas: "ptxas".into(),
            path: "nested.sm_90.ptx".into(),
            message: message.into(),
        };
        unless_expected(Err(refused), |path| path)
    }

    #[test]
    fn the_wait_for_a_child_may_be_refused() {
        assert_eq!(judge(REPORT).unwrap(), PathBuf::from("nested.sm_90.ptx"));
    }

    #[test]
    fn nothing_else_may_be() {
        let other = "ptxas nested.sm_90.ptx, line 7; error   : Unknown symbol 'lost'";
        for report in ["", other, &format!("{other}\n{REPORT}")] {
            assert!(judge(report).is_err(), "{report}");
        }
    }
}
