//! Finding the lesson that a user means.

use super::failure::Failure;
use super::names::{self, Kind};
use warpfold_course::lesson;
use warpfold_kernels::catalogue::{self, Lesson, Variant};

/// The lesson of that id.
pub fn lesson(id: &str) -> Result<&'static Lesson, Failure> {
    catalogue::find(id).ok_or_else(|| no_such(id, &[Kind::Lesson], &[]))
}

/// A name that is of none of the kinds that the command takes, nor any of the `others` that it knows.
pub fn no_such(name: &str, wanted: &[Kind], others: &[&str]) -> Failure {
    Failure::Input(names::refusal(name, wanted, others))
}

/// What can be set for a lesson besides its block size.
#[derive(clap::Args, Debug)]
pub struct ParameterArguments {
    /// Value of the lesson's parameter, as in --set stride=2, if it has one (see `warpfold lessons ID`)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    set: Option<Setting>,
}

/// `stride=2`.
#[derive(Clone, Debug)]
struct Setting {
    name: String,
    value: u32,
}

fn parse_setting(text: &str) -> Result<Setting, String> {
    text.split_once('=')
        .and_then(|(name, value)| {
            Some(Setting {
                name: name.to_owned(),
                value: value.parse().ok()?,
            })
        })
        .ok_or_else(|| "give a name and a whole number, as in stride=2".to_owned())
}

impl ParameterArguments {
    /// Whether a value is given.
    pub fn is_given(&self) -> bool {
        self.set.is_some()
    }

    /// The variant of the lesson with such blocks: with the value that is given, or else the usual one.
    pub fn variant(&self, lesson: &Lesson, block: u32) -> Result<Variant, Failure> {
        let Some(setting) = &self.set else {
            return Ok(lesson.usual(block));
        };
        match lesson.parameter {
            Some(parameter) if parameter.name == setting.name => {
                let variant = Variant {
                    block,
                    parameter: Some(setting.value),
                };
                lesson::entry(lesson, variant)?;
                Ok(variant)
            }
            Some(parameter) => Err(Failure::Input(format!(
                "`{}` has no `{}` to set; it has `{}`",
                lesson.id, setting.name, parameter.name
            ))),
            None => Err(Failure::Input(format!(
                "`{}` has nothing to set; leave --set out",
                lesson.id
            ))),
        }
    }
}
