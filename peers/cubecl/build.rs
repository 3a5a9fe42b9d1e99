//! Tells the program which versions it is built with.

use std::fs;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock is beside this file");
    for (variable, package) in [("CUBECL", "cubecl"), ("CUBEK", "cubek-reduce")] {
        let name = format!("name = \"{package}\"\nversion = \"");
        let (_, rest) = lock.split_once(&name).expect("it is a dependency");
        let (version, _) = rest.split_once('"').expect("a version is quoted");
        println!("cargo:rustc-env={variable}={version}");
    }
}
