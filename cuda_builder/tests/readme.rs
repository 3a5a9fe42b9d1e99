//! The README names every option.

#[test]
fn every_option_is_in_the_readme() {
    let readme = include_str!("../README.md");
    let options = include_str!("../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("    pub fn ")?.split_once('('))
        .map(|(name, _)| name.to_owned())
        .collect::<Vec<_>>();
    assert!(options.len() > 5, "{options:?}");
    for option in options {
        assert!(
            readme.contains(&format!("`{option}`")) || readme.contains(&format!("::{option}`")),
            "`{option}` is missing"
        );
    }
}
