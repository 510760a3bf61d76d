// SPDX-License-Identifier: Apache-2.0
//! What gimli's addr2line says about addresses, for comparing: raw names, no demangling.
//!
//! gimli_lookup little|big FILE [SECTION=OFFSET,SIZE]... [--sup FILE [SECTION=OFFSET,SIZE]...]
//!
//! Sections are given by their place, so that nothing here reads ELF. Standard input has one
//! hexadecimal address a line; for each comes a line of the address and, for each frame, innermost
//! first, a tab and function, file, line with US (0x1f) between them.
use std::collections::HashMap;
use std::io::{BufRead, Write};

type Bytes = gimli::EndianSlice<'static, gimli::RunTimeEndian>;
type Failure = Box<dyn std::error::Error>;

/// Newer versions answer with something that may ask for split units; older ones with this.
trait Whole {
    fn skip_all_loads(self) -> Self;
}

impl<T, E> Whole for Result<T, E> {
    fn skip_all_loads(self) -> Self {
        self
    }
}

/// One file's sections by name.
struct Sections {
    data: &'static [u8],
    places: HashMap<String, (usize, usize)>,
}

impl Sections {
    fn of(path: &str, places: &[String]) -> Result<Self, Failure> {
        let data: &'static [u8] = Box::leak(std::fs::read(path)?.into_boxed_slice());
        let mut found = HashMap::new();
        for place in places {
            let (name, span) = place.split_once('=').ok_or("SECTION=OFFSET,SIZE expected")?;
            let (offset, size) = span.split_once(',').ok_or("OFFSET,SIZE expected")?;
            found.insert(name.to_string(), (offset.parse()?, size.parse()?));
        }
        Ok(Sections { data, places: found })
    }

    fn get(&self, name: &str, endian: gimli::RunTimeEndian) -> Result<Bytes, gimli::Error> {
        let (offset, size) = *self.places.get(name).unwrap_or(&(0, 0));
        let bytes = self.data.get(offset..offset + size).unwrap_or(&[]);
        Ok(Bytes::new(bytes, endian))
    }
}

fn answer(
    context: &addr2line::Context<Bytes>,
    address: u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut frames = context.find_frames(address).skip_all_loads()?;
    write!(out, "{address:x}")?;
    while let Some(frame) = frames.next()? {
        let name = match &frame.function {
            Some(function) => function.raw_name()?.to_string(),
            None => String::new(),
        };
        let (file, line) = match &frame.location {
            Some(place) => (place.file.unwrap_or(""), place.line.unwrap_or(0)),
            None => ("", 0),
        };
        write!(out, "\t{name}\x1f{file}\x1f{line}")?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.len() < 2 {
        return Err("little|big FILE SECTION=OFFSET,SIZE... expected".into());
    }
    let endian = match args[0].as_str() {
        "big" => gimli::RunTimeEndian::Big,
        _ => gimli::RunTimeEndian::Little,
    };
    let split = args.iter().position(|a| a == "--sup").unwrap_or(args.len());
    let own = Sections::of(&args[1], &args[2..split])?;
    let mut dwarf = gimli::Dwarf::load(|id| own.get(id.name(), endian))?;
    if split + 1 < args.len() {
        let other = Sections::of(&args[split + 1], &args[split + 2..])?;
        dwarf.load_sup(|id| other.get(id.name(), endian))?;
    }
    let context = addr2line::Context::from_dwarf(dwarf)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let address = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16)?;
        if let Err(failure) = answer(&context, address, &mut out) {
            write!(out, "\t!{failure}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
