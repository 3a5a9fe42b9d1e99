//! What is called how.

use crate::results::shapes_record::{Group, Point};

/// What a group is called.
pub fn group(group: Group) -> &'static str {
    match group {
        Group::Rows => "rows",
        Group::Columns => "columns",
        Group::OddColumns => "odd columns",
        Group::OddRows => "odd rows",
        Group::Types => "small types",
        Group::TypeColumns => "columns of small types",
        Group::Segments => "segments",
        Group::Graphs => "graphs",
        Group::Scans => "scans",
        Group::Keys => "by key",
    }
}

/// The shape of a point, with the type where there are several.
pub fn shape(point: &Point) -> String {
    match point.group {
        Group::Types | Group::TypeColumns => format!("{}, {}", point.element_type, point.shape()),
        _ => point.shape(),
    }
}
