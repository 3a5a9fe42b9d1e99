//! `warpfold new`: a crate for one's own kernel.

mod name;

use super::failure::Failure;
use super::output::print;
use name::Name;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  warpfold new my_kernel
  cd my_kernel && cargo test && cargo run

The crate has a kernel, the program that launches it, and a test that compares it with the CPU and looks for races. It builds with \
stable Rust; the kernel is compiled by rustc with the target nvptx64-nvidia-cuda: `rustup toolchain install nightly --component rust-src` \
brings it; on Debian and Ubuntu it is fetched when it is first needed.";

/// The command's arguments.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The crate's name, which is also that of its new folder
    name: Name,
    /// Where the crate finds warpfold: the folder of a checkout, or the URL of a git repository [default: the checkout that this program
    /// was built from, else the repository it names]
    #[arg(long, value_name = "FOLDER|URL")]
    warpfold: Option<String>,
}

/// The crate's files: the place of each, and its text, in which the crate is called `warpfold-template`. No manifest here is called
/// `Cargo.toml`, because cargo would take the folder for a package.
const FILES: [(&str, &str); 9] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.template")),
    ("README.md", include_str!("template/README.md")),
    (".gitignore", include_str!("template/gitignore")),
    ("build.rs", include_str!("template/build.rs")),
    (
        "kernels/Cargo.toml",
        include_str!("template/kernels/Cargo.toml.template"),
    ),
    (
        "kernels/src/lib.rs",
        include_str!("template/kernels/src/lib.rs"),
    ),
    ("src/lib.rs", include_str!("template/src/lib.rs")),
    ("src/main.rs", include_str!("template/src/main.rs")),
    (
        "tests/kernels.rs",
        include_str!("template/tests/kernels.rs"),
    ),
];

/// What the template calls the folder of warpfold.
const PLACE: &str = "path = \"@warpfold@/";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = &arguments.name;
    let source = Source::new(arguments.warpfold.as_deref())?;
    let folder = Path::new(name.package());
    if folder.exists() {
        return Err(Failure::Input(format!(
            "{} is there already; choose another name, or remove it",
            folder.display()
        )));
    }
    create(folder, name, &source)
        .map_err(|error| Failure::Input(format!("cannot create {}: {error}", folder.display())))?;
    print(format!(
        "{0} is ready: `cd {0}`, then `cargo test` and `cargo run`; the kernel is in {0}/kernels/src/lib.rs",
        folder.display()
    ))
}

/// Writes the crate under a temporary name and renames it, so that nobody ever sees half of it.
fn create(folder: &Path, name: &Name, source: &Source) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".warpfold-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new folder; the process's umask removes some of them.
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    let temporary = builder.tempdir_in(".")?;
    for (place, text) in FILES {
        let text = text
            .replace("warpfold-template", name.package())
            .replace("warpfold_template", &name.library());
        let path = temporary.path().join(place);
        fs::create_dir_all(path.parent().unwrap_or(temporary.path()))?;
        fs::write(path, source.write_into(&text))?;
    }
    fs::rename(temporary.path(), folder)
}

/// Where a crate finds warpfold.
enum Source {
    Folder(PathBuf),
    Repository(String),
}

impl Source {
    /// What is asked for, else the checkout that the program was built from, else the repository that it names.
    fn new(asked: Option<&str>) -> Result<Self, Failure> {
        if let Some(asked) = asked {
            return match Self::checkout(Path::new(asked)) {
                Some(checkout) => Ok(checkout),
                None if asked.contains("://") => Ok(Self::Repository(asked.to_owned())),
                None => Err(Failure::Input(format!(
                    "{asked} is no checkout of warpfold, nor the URL of a repository; name the folder with warpfold's ARCHITECTURE.md"
                ))),
            };
        }
        let repository = env!("CARGO_PKG_REPOSITORY");
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        match built_from.and_then(Self::checkout) {
            Some(checkout) => Ok(checkout),
            None if !repository.is_empty() => Ok(Self::Repository(repository.to_owned())),
            None => Err(Failure::input(
                "the checkout that this program was built from is gone; say where warpfold is with --warpfold, a folder or a URL",
            )),
        }
    }

    /// The checkout in a folder, if there is one.
    fn checkout(folder: &Path) -> Option<Self> {
        let is_there = folder.join("cuda_builder/Cargo.toml").is_file();
        // Not the canonical path, which on Windows is one that not every program takes.
        let folder = path::absolute(folder).ok().filter(|_| is_there)?;
        Some(Self::Folder(folder))
    }

    /// A manifest with the dependencies found here.
    fn write_into(&self, manifest: &str) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let line = |line: &str| {
            let Some((before, rest)) = line.split_once(PLACE) else {
                return format!("{line}\n");
            };
            let (package, after) = rest.split_once('"').unwrap_or((rest, ""));
            let place = match self {
                Self::Folder(folder) => {
                    let path = folder.join(package);
                    format!("path = {}", quoted(&path.to_string_lossy()))
                }
                Self::Repository(url) => format!("git = {}", quoted(url)),
            };
            format!("{before}{place}{after}\n")
        };
        manifest.lines().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_a_folder_or_in_a_repository() {
        let manifest = "a = 1\nb = { package = \"c\", path = \"@warpfold@/c\" }\n";
        let folder = Source::Folder(PathBuf::from("/home/it's/here"));
        assert_eq!(
            folder.write_into(manifest),
            "a = 1\nb = { package = \"c\", path = \"/home/it's/here/c\" }\n"
        );
        let repository = Source::Repository("https://a.example/b".to_owned());
        assert_eq!(
            repository.write_into(manifest),
            "a = 1\nb = { package = \"c\", git = \"https://a.example/b\" }\n"
        );
    }
}
