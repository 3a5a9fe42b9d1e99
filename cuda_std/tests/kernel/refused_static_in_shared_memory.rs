use cuda_std::address_space;

#[address_space(shared)]
static mut TILE: [f32; 64] = [0.0; 64];

fn main() {}
