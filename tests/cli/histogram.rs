//! `warpfold histogram`.

use super::*;
use warpfold_course::histogram::CHANNELS;

const CHELSEA: &str = "chelsea.png";

fn arguments(image: &str) -> [&str; 4] {
    ["histogram", image, "--device", "emulator"]
}

/// The counts that NumPy has of the photograph, by channel.
fn counts_by_numpy() -> [Vec<u64>; 3] {
    let text = std::fs::read_to_string(data("chelsea.histogram.csv")).expect("the data");
    let rows: Vec<Vec<u64>> = text
        .lines()
        .skip(1)
        .map(|line| {
            line.split(',')
                .map(|cell| cell.parse().expect("a number"))
                .collect()
        })
        .collect();
    std::array::from_fn(|channel| rows.iter().map(|row| row[channel + 1]).collect())
}

#[test]
fn the_three_histograms_are_those_of_numpy() {
    let image = data(CHELSEA);
    for kernel in ["global", "shared", "both"] {
        for block in ["64", "1024"] {
            let json = json_of(
                &[
                    &arguments(&image)[..],
                    &["--kernel", kernel, "--block", block],
                ]
                .concat(),
            );
            assert_eq!(
                json["blocks"],
                serde_json::json!([block.parse::<u32>().ok()])
            );
            assert_eq!(json["images"].as_array().map(Vec::len), Some(1));
            let json = &json["images"][0];
            assert_eq!(
                (&json["width"], &json["height"], &json["pitch"]),
                (&451.into(), &300.into(), &1356.into())
            );
            let cpu = json["cpu"].as_array().expect("the processor");
            assert_eq!(cpu[0]["cores"], 1);
            for cpu in cpu {
                assert_eq!(cpu["is_right"], true);
                assert!(cpu["elapsed_ms"].as_f64() > Some(0.0), "{cpu}");
            }
            for (name, right) in CHANNELS.into_iter().zip(counts_by_numpy()) {
                assert_eq!(
                    json["channels"][name]["counts"],
                    Value::from(right),
                    "{name}"
                );
            }
            let kernels = json["kernels"].as_array().expect("kernels");
            let ids: Vec<&str> = kernels.iter().filter_map(|of| of["id"].as_str()).collect();
            match kernel {
                "both" => assert_eq!(ids, ["histogram_global", "histogram_shared"]),
                one => assert_eq!(ids, [format!("histogram_{one}")]),
            }
            for kernel in kernels {
                assert_eq!(kernel["is_right"], true);
                assert_eq!(kernel["gpu"], Value::Null);
            }
        }
    }
}

#[test]
fn the_text_shows_kernels_bars_and_statistics() {
    let output = output_of(&arguments(&data(CHELSEA)));
    assert!(output.starts_with("emulator"), "{output}");
    for line in [
        "451 × 300 = 135,300 pixels, in rows of 1,356 bytes",
        "CPU, 1 core",
        "histogram_global    128  1,058",
        "histogram_global    512    265",
        "histogram_global   1024    133",
        "histogram_shared    128     34",
        "CPU: the image counted where it is in memory, median of 5 runs.",
        // NumPy's means of the channels.
        "mean  147.67                111.44                86.80",
        "least  2                     4                     0",
        "most  215                   189                   231",
        "144–159  ████████████  21.2 %",
    ] {
        assert!(output.contains(line), "{line} in {output}");
    }
    assert!(
        !output.contains("WRONG") && !output.contains("GB/s"),
        "{output}"
    );
}

#[test]
fn a_photograph_and_a_fractal_are_compared_over_the_block_sizes() {
    let scratch = Scratch::new();
    let (image, svg) = (data(CHELSEA), scratch.name("compare.svg"));
    let more = [
        "--synthetic",
        "320x200",
        "--compare",
        &svg,
        "--block",
        "1024",
        "--block",
        "64",
    ];
    let json = json_of(&[&arguments(&image)[..], &more].concat());
    assert_eq!(json["blocks"], serde_json::json!([64, 1024]));
    let images = json["images"].as_array().expect("images");
    let names: Vec<&Value> = images.iter().map(|image| &image["image"]).collect();
    assert_eq!(names, [&Value::from(&image[..]), &"fractal".into()]);
    for image in images {
        let kernels = image["kernels"].as_array().expect("kernels");
        let ran: Vec<(&str, u64)> = kernels
            .iter()
            .filter_map(|of| Some((of["id"].as_str()?, of["block"].as_u64()?)))
            .collect();
        let [global, shared] = ["histogram_global", "histogram_shared"];
        assert_eq!(
            ran,
            [(global, 64), (global, 1024), (shared, 64), (shared, 1024)]
        );
        assert!(kernels.iter().all(|kernel| kernel["is_right"] == true));
    }
    // The inside of the set is black, and queues at one bin.
    let fractal = &images[1];
    let black = fractal["channels"]["red"]["counts"][0]
        .as_u64()
        .expect("a number");
    assert!(black > 320 * 200 / 10, "{black}");
    let passes = |image: &Value| {
        let passes = image["kernels"][0]["atomics"]["global_passes"].as_f64();
        let pixels = image["width"].as_f64().zip(image["height"].as_f64());
        passes
            .zip(pixels)
            .map(|(passes, (width, height))| passes / (width * height))
    };
    assert!(passes(fractal) > passes(&images[0]), "{json}");
    let svg = std::fs::read_to_string(svg).expect("the picture is there");
    for text in [
        "histogram_global",
        "histogram_shared",
        "threads of a block · chelsea.png · 451 × 300 pixels",
        "threads of a block · fractal · 320 × 200 pixels",
        "turns of atomics for each pixel",
    ] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn a_fractal_needs_no_file() {
    let scratch = Scratch::new();
    let plot = scratch.name("fractal.svg");
    let arguments = [
        "histogram",
        "--synthetic",
        "64x48",
        "--device",
        "emulator",
        "--kernel",
        "shared",
        "--plot",
        &plot,
    ];
    let output = output_of(&arguments);
    assert!(
        output.contains("fractal: 64 × 48 = 3,072 pixels"),
        "{output}"
    );
    let plot = std::fs::read_to_string(plot).expect("the plot is there");
    assert!(plot.contains("fractal · 64 × 48 pixels"));
}

#[test]
fn one_pixel_is_an_image() {
    let scratch = Scratch::new();
    let image = scratch.name("one.png");
    let file = std::fs::File::create(&image).expect("the image is created");
    let mut encoder = png::Encoder::new(file, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("the header is written");
    writer
        .write_image_data(&[1, 2, 255])
        .and_then(|()| writer.finish())
        .expect("the image is written");
    let json = json_of(
        &[
            &arguments(&image)[..],
            &["--plot", &scratch.name("one.svg")],
        ]
        .concat(),
    );
    let json = &json["images"][0];
    assert_eq!(json["pitch"], 4);
    for (name, value) in CHANNELS.into_iter().zip([1, 2, 255]) {
        let channel = &json["channels"][name];
        assert_eq!(
            (&channel["mean"], &channel["least"], &channel["most"]),
            (&f64::from(value).into(), &value.into(), &value.into())
        );
        assert_eq!(channel["counts"][value as usize], 1);
    }
}

#[test]
fn a_plot_is_a_whole_file_and_nothing_is_left_beside_it() {
    let scratch = Scratch::new();
    let image = scratch.name("<cat> & \"dog\".png");
    std::fs::copy(data(CHELSEA), &image).expect("the data");
    for name in ["plot.png", "plot.SVG"] {
        // What was there before is replaced.
        let plot = scratch.file(name, b"old");
        output_of(&[&arguments(&image)[..], &["--plot", &plot]].concat());
    }
    let plot = std::fs::read(scratch.path("plot.png")).expect("the plot is a file");
    let mut plot = png::Decoder::new(std::io::Cursor::new(plot))
        .read_info()
        .expect("the plot is an image");
    let mut rgb = vec![0; plot.output_buffer_size().expect("it has a size")];
    let frame = plot.next_frame(&mut rgb).expect("the plot is whole");
    assert_eq!((frame.width, frame.height), (2000, 1200));
    assert_eq!(rgb.len(), 3 * 2000 * 1200);
    // White in the corner; somewhere the letters, the areas and what is mixed of them.
    assert_eq!(rgb[..3], [255; 3]);
    let colours: std::collections::HashSet<&[u8]> = rgb.chunks_exact(3).collect();
    assert!(
        colours.contains(&[0, 0, 0][..]) && colours.len() > 50,
        "{}",
        colours.len()
    );

    let text = std::fs::read_to_string(scratch.path("plot.SVG")).expect("the plot is text");
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"));
    let words: String = svg::read(&text)
        .expect("the plot is text")
        .filter_map(|event| match event {
            svg::parser::Event::Error(error) => panic!("{error} in {text}"),
            svg::parser::Event::Text(words) => Some(words),
            _ => None,
        })
        .collect();
    for word in [
        "&lt;cat&gt; &amp; &quot;dog&quot;.png · 451 × 300 pixels",
        "red, mean 147.7",
        "green, mean 111.4",
        "blue, mean 86.8",
    ] {
        assert!(words.contains(word), "{word} in {words}");
    }
    assert_eq!(
        std::fs::read_dir(scratch.0.path())
            .expect("the folder")
            .count(),
        3
    );
}

#[test]
fn bad_images_are_one_sentence_with_status_2_and_leave_no_plot() {
    let scratch = Scratch::new();
    let photograph = std::fs::read(data(CHELSEA)).expect("the data");
    let jpeg = std::fs::read(data("images/red.jpg")).expect("the data");
    let bmp = std::fs::read(data("images/rgb.bmp")).expect("the data");
    let with = |bytes: &[u8], at: usize, new: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 20].to_vec();
    let middle = photograph.len() / 2;
    for (name, contents, culprit) in [
        (
            "empty.png",
            vec![],
            "is not an image, as its first bytes show; give a PNG, JPEG or BMP file",
        ),
        (
            "text.jpg",
            b"hello, world, this is no image".to_vec(),
            "is not an image, as its first bytes show",
        ),
        (
            "moving.png",
            b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(),
            "is a GIF image, which is not read here; convert it",
        ),
        (
            "scan.bmp",
            b"II*\0\x08\0\0\0\0\0".to_vec(),
            "is a TIFF image",
        ),
        (
            "cut.png",
            photograph[..middle].to_vec(),
            "is not a readable PNG image: the file ends before the image does",
        ),
        (
            "cut.jpg",
            cut(&jpeg),
            "is not a readable JPEG image: the file ends before the image does",
        ),
        (
            "cut.bmp",
            cut(&bmp),
            "is not a readable BMP image: the file ends before the image does",
        ),
        (
            "rotten.png",
            with(&photograph, middle, &[!photograph[middle]]),
            "is not a readable PNG image",
        ),
        (
            "rotten.jpg",
            with(&jpeg, 2, &[0xff, 0xff, 0xff, 0xff, 0x12]),
            "is not a readable JPEG image",
        ),
        (
            "flat.bmp",
            with(&bmp, 18, &[0; 4]),
            "has no pixels to count: it is 0 × 3",
        ),
        (
            "thin.bmp",
            with(&bmp, 22, &[0; 4]),
            "has no pixels to count: it is 5 × 0",
        ),
        (
            "flat.png",
            with(&photograph, 16, &[0; 4]),
            "has no pixels to count: it is 0 × 300",
        ),
        (
            "thin.png",
            with(&photograph, 20, &[0; 4]),
            "has no pixels to count: it is 451 × 0",
        ),
        (
            "huge.bmp",
            with(&bmp, 18, &[0x60, 0xea, 0, 0, 0x60, 0xea, 0, 0]),
            "claims to have more than 2^28 pixels",
        ),
        (
            "deep.bmp",
            with(&bmp, 28, &[13]),
            "is not a readable BMP image",
        ),
    ] {
        let image = scratch.file(name, &contents);
        let plot = scratch.name("plot.png");
        refuses(
            &[&arguments(&image)[..], &["--plot", &plot]].concat(),
            culprit,
        );
        assert!(!Path::new(&plot).exists(), "{name}");
    }
    refuses(&arguments("missing.png"), "cannot read missing.png");
    refuses(&arguments(&scratch.name("")), "cannot read");
}

/// A few bytes that claim to be ten thousand million pixels: refused before there is memory for them.
#[test]
fn a_decompression_bomb_is_refused() {
    let scratch = Scratch::new();
    let bomb = b"\x89PNG\r\n\x1a\n\
        \0\0\0\x0dIHDR\0\x01\x86\xa0\0\x01\x86\xa0\x08\x02\0\0\0\x27\x30\x9c\x9f\
        \0\0\0\0IDAT\x35\xaf\x06\x1e\0\0\0\0IEND\xae\x42\x60\x82";
    let image = scratch.file("bomb.png", bomb);
    refuses(
        &arguments(&image),
        "claims to have more than 2^28 pixels or 2 GiB",
    );
}

#[test]
fn bad_usage_is_refused_before_the_image_is_read() {
    let scratch = Scratch::new();
    let image = scratch.name("photo.png");
    std::fs::copy(data(CHELSEA), &image).expect("the data");
    for (more, culprit) in [
        (
            &["--plot", "plot.gif"][..],
            "cannot plot to plot.gif: name the file .png or .svg",
        ),
        (&["--plot", "plot"], "cannot plot to plot:"),
        (
            &["--plot", "/no/such/folder/plot.png"],
            "there is no folder /no/such/folder",
        ),
        (
            &["--plot", &image],
            "is the image itself, which a plot would overwrite",
        ),
        (
            &["--compare", "times.png"],
            "this plot is made as SVG; name the file .svg",
        ),
        (
            &["--compare", "/no/such/folder/a.svg"],
            "there is no folder",
        ),
        (&["--kernel", "texture"], "'texture' for '--kernel"),
        (&["--block", "96"], "use one of 64, 128, 256, 512, 1024"),
    ] {
        refuses(&[&arguments(&image)[..], more].concat(), culprit);
    }
    refuses(&["histogram"], "<IMAGE>");
    for (extent, culprit) in [
        ("1920", "give width and height in pixels, as in 1920x1080"),
        ("axb", "give width and height in pixels"),
        ("0x5", "an image without pixels has no histogram"),
        (
            "65536x65536",
            "a fractal of 65536 × 65536 has more than 2^28 pixels",
        ),
    ] {
        let arguments = ["histogram", "--synthetic", extent, "--device", "emulator"];
        refuses(&arguments, culprit);
    }
    assert_eq!(
        std::fs::read(&image).expect("it is still there"),
        std::fs::read(data(CHELSEA)).expect("the data")
    );
}
