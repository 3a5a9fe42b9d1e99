//! `warpfold completions`.

use super::*;

#[test]
fn every_shell_learns_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = output_of(&["completions", shell]);
        for command in ["host-lesson", "multiprocessors", "exercise"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    refuses(&["completions", "sh"], "possible values: bash");
}

/// Asks bash itself, where there is one.
#[test]
fn bash_completes_a_command() {
    let scratch = Scratch::new();
    let script = scratch.file("warpfold", output_of(&["completions", "bash"]).as_bytes());
    let ask = format!(
        "source {script}; COMP_WORDS=(warpfold host); COMP_CWORD=1; _warpfold warpfold host warpfold; echo ${{COMPREPLY[@]}}"
    );
    let Ok(answer) = std::process::Command::new("bash")
        .args(["-c", &ask])
        .output()
    else {
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&answer.stdout).trim(),
        "host-lesson"
    );
}
