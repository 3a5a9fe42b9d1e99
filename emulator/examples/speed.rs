//! Warp instructions per second of every entry of a ladder PTX: `cargo run --release --example speed FILE N BLOCK THREADS`.
use std::time::Instant;
use warpfold_emulator::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let source = std::fs::read_to_string(&args[1]).unwrap();
    let n: usize = args[2].parse().unwrap();
    let block: u32 = args[3].parse().unwrap();
    let threads: usize = args[4].parse().unwrap();
    let start = Instant::now();
    let module = Module::parse(&source).unwrap_or_else(|e| panic!("{e}"));
    println!("parse {:?}", start.elapsed());
    let names: Vec<String> = module.entries().map(str::to_owned).collect();
    let data: Vec<i32> = (0..n)
        .map(|i| (i as i32).wrapping_mul(2654435761u32 as i32) >> 8)
        .collect();
    let want = data.iter().fold(0i32, |a, b| a.wrapping_add(*b));
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut memory = Memory::new();
    let program = Program::load(module, &mut memory).unwrap();
    for name in names {
        let per = if name.contains("unroll") || name.contains("shuffle") {
            if name.contains("unroll2") {
                2
            } else if name.contains("unroll4") {
                4
            } else {
                8
            }
        } else {
            1
        };
        if let Some((_, b)) = name.rsplit_once('_')
            && let Ok(b) = b.parse::<u32>()
            && b != block
        {
            continue;
        }
        let grid = n.div_ceil(block as usize * per) as u32;
        let input = memory.allocate(n * 4).unwrap();
        let partials = memory.allocate(grid as usize * 4).unwrap();
        let shape = Launch {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
            threads,
            max_steps: 0,
        };
        let arguments = [
            input.to_le_bytes().to_vec(),
            partials.to_le_bytes().to_vec(),
            (n as u64).to_le_bytes().to_vec(),
        ];
        let kernel = program.kernel(&name).unwrap_or_else(|e| panic!("{e}"));
        let run = |memory: &mut Memory| {
            memory.write(input, &bytes).unwrap();
            let start = Instant::now();
            launch(&kernel, memory, &shape, &arguments, &mut Nothing)
                .unwrap_or_else(|e| panic!("{e}"));
            let time = start.elapsed().as_secs_f64();
            let mut out = vec![0; grid as usize * 4];
            memory.read(partials, &mut out).unwrap();
            let sum = out.chunks_exact(4).fold(0i32, |a, b| {
                a.wrapping_add(i32::from_le_bytes(b.try_into().unwrap()))
            });
            assert_eq!(sum, want, "{name}");
            time
        };
        let best = (0..3).map(|_| run(&mut memory)).fold(f64::MAX, f64::min);
        memory.write(input, &bytes).unwrap();
        let mut counters = Counters::default();
        let start = Instant::now();
        launch(&kernel, &memory, &shape, &arguments, &mut counters).unwrap();
        let counted = start.elapsed().as_secs_f64();
        println!(
            "{name:30} {:9} instr  {:6.1} M/s  counted {:6.1} M/s  be {:.2}",
            counters.inst_executed,
            counters.inst_executed as f64 / best / 1e6,
            counters.inst_executed as f64 / counted / 1e6,
            100.0 * counters.branch_efficiency()
        );
        memory.free(input).unwrap();
        memory.free(partials).unwrap();
    }
}
