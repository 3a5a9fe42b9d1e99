//! Arithmetic, bit for bit against a GPU: `data/arithmetic.h200.tsv`, whose origin is in `data/README.md`.

mod forms;

use forms::Form;
use rayon::prelude::*;

#[test]
fn every_form_gives_the_bits_that_a_gpu_gives() {
    let forms = Form::all();
    assert!(forms.len() > 2000);
    // On all cores: each part is a module of its own.
    let parts = forms.par_chunks(256).map(forms::emulate);
    let results: Vec<Vec<u8>> = parts.flatten_iter().collect();
    let wrong: Vec<&str> = std::iter::zip(&forms, results)
        .filter(|(form, results)| forms::digest(results) != form.digest)
        .map(|(form, _)| form.instruction)
        .collect();
    assert_eq!(wrong, Vec::<&str>::new(), "of {} forms", forms.len());
}
