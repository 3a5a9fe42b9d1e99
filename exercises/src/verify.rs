//! Whether the exercises themselves are right: every starter fails as stated, every reference gets three stars, and every wrong
//! solution is convicted by the stage that its first line names.

use serde::Serialize;

use crate::exercise::Exercise;
use crate::judge::{JudgeError, Judgement, judge};
use crate::stage::Stage;
use warpfold_workshop::{Source, Workshop};

/// A solution that comes with an exercise, judged.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// The exercise.
    pub exercise: &'static str,
    /// The file, relative to the exercise's folder.
    pub file: String,
    /// What has to convict it; `None` for a reference.
    pub expected: Option<Stage>,
    /// What the judge says.
    pub judgement: Judgement,
    /// What is wrong with the sample, in words; `None` where the judge says what is expected.
    pub problem: Option<String>,
}

/// Judges everything that comes with an exercise.
///
/// # Errors
/// As [`judge`].
pub fn verify(
    workshop: &mut Workshop,
    exercise: &'static Exercise,
) -> Result<Vec<Sample>, JudgeError> {
    let starter = (
        "starter.rs".to_owned(),
        exercise.starter_text(),
        Some(exercise.starter),
    );
    let reference = ("reference.rs".to_owned(), exercise.reference(), None);
    let mut samples = Vec::new();
    for (file, text, expected) in [starter, reference] {
        samples.push(Sample::new(workshop, exercise, file, text, expected, None)?);
    }
    for wrong in exercise.wrong() {
        let file = format!("wrong/{}", wrong.name);
        let problem = wrong.convicted_by.is_none().then(|| {
            let stages: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
            format!(
                "its first line does not say `//! Convicted by: STAGE` with one of {}",
                stages.join(", ")
            )
        });
        let sample = Sample::new(
            workshop,
            exercise,
            file,
            wrong.text,
            wrong.convicted_by,
            problem,
        )?;
        samples.push(sample);
    }
    Ok(samples)
}

impl Sample {
    fn new(
        workshop: &mut Workshop,
        exercise: &'static Exercise,
        file: String,
        text: &str,
        expected: Option<Stage>,
        problem: Option<String>,
    ) -> Result<Self, JudgeError> {
        let name = format!("{}/{file}", exercise.folder());
        let judgement = judge(workshop, exercise, Source::Text { name: &name, text }, None)?;
        let found = judgement.conviction.as_ref();
        let stage = found.map(|conviction| conviction.stage);
        let problem = problem.or_else(|| {
            let says = |stage: Option<Stage>| match stage {
                Some(stage) => format!("convicted by {stage}"),
                None => "given three stars".to_owned(),
            };
            (stage != expected).then(|| {
                let why = found.map(|conviction| format!(": {}", conviction.headline));
                format!(
                    "{}, not {}{}",
                    says(stage),
                    says(expected),
                    why.unwrap_or_default()
                )
            })
        });
        Ok(Self {
            exercise: exercise.id,
            file,
            expected,
            judgement,
            problem,
        })
    }
}
