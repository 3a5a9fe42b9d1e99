//! `warpfold lessons`.

use super::*;

#[test]
fn the_table_and_the_json_list_the_catalogue() {
    let table = output_of(&["lessons"]);
    let json = json_of(&["lessons"]);
    for heading in ["The CPU references", "The ladder", "Operators and types"] {
        assert_eq!(
            table
                .lines()
                .filter(|line| line.starts_with(heading))
                .count(),
            1,
            "{heading} in {table}"
        );
    }
    let of_f32 = json["lessons"]
        .as_array()
        .expect("lessons")
        .iter()
        .find(|row| row["element_type"] == "f32")
        .expect("a lesson of f32");
    assert_eq!(
        (&of_f32["part"], &of_f32["operator"]),
        (&"Operators and types".into(), &"sum".into())
    );
    for lesson in lessons() {
        // Of the instances of a generic body the table names the first and the last.
        if lesson.part != Part::Operators {
            assert!(table.contains(lesson.id), "{}", lesson.id);
        }
        let listed = json["lessons"]
            .as_array()
            .expect("lessons")
            .iter()
            .any(|row| row["id"] == lesson.id);
        assert!(listed, "{}", lesson.id);
    }
    assert_eq!(json["cpu_references"].as_array().map(Vec::len), Some(4));
}
