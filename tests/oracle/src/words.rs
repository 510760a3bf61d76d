// SPDX-License-Identifier: Apache-2.0
//! Counts words, with as many generic things of the standard library as such a program may use.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;
use std::io::{self, BufRead};
use std::sync::mpsc;
use std::thread;

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Word(String);

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:>12}", self.0)
    }
}

trait Count {
    fn add(&mut self, word: Word);
    fn total(&self) -> usize;
}

#[derive(Default)]
struct Hashed(HashMap<Word, usize>);

#[derive(Default)]
struct Sorted(BTreeMap<Word, usize>);

impl Count for Hashed {
    fn add(&mut self, word: Word) {
        *self.0.entry(word).or_insert(0) += 1;
    }
    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

impl Count for Sorted {
    fn add(&mut self, word: Word) {
        *self.0.entry(word).or_insert(0) += 1;
    }
    fn total(&self) -> usize {
        self.0.values().sum()
    }
}

fn words(line: &str) -> impl Iterator<Item = Word> + '_ {
    line.split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .map(|w| Word(w.to_lowercase()))
}

fn recent<'a>(all: impl Iterator<Item = &'a Word>, keep: usize) -> VecDeque<&'a Word> {
    let mut last = VecDeque::with_capacity(keep);
    for word in all {
        if last.len() == keep {
            last.pop_front();
        }
        last.push_back(word);
    }
    last
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (send, receive) = mpsc::channel::<Vec<Word>>();
    let counting = thread::spawn(move || {
        let mut counts: Vec<Box<dyn Count + Send>> =
            vec![Box::new(Hashed::default()), Box::new(Sorted::default())];
        let mut seen = HashSet::new();
        for batch in receive {
            for word in batch {
                counts.iter_mut().for_each(|c| c.add(word.clone()));
                seen.insert(word);
            }
        }
        (counts.iter().map(|c| c.total()).collect::<Vec<_>>(), seen)
    });
    for line in io::stdin().lock().lines() {
        send.send(words(&line?).collect())?;
    }
    drop(send);
    let (totals, seen) = counting.join().map_err(|_| "the counting thread panicked")?;
    let mut sorted: Vec<_> = seen.iter().collect();
    sorted.sort_unstable_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    for word in recent(sorted.into_iter(), 10) {
        println!("{word}");
    }
    println!("{totals:?}");
    Ok(())
}
