//! Files written whole or not at all.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::{IoError, io};

/// Writes a file under a temporary name, and renames it.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), IoError> {
    let failed = || io(format!("write {}", path.display()));
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of an ordinary new file; the process's mask takes its share away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    file.persist(path).map_err(|error| failed()(error.error))?;
    Ok(())
}
