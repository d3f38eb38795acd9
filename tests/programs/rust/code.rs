// Threads, channels, collections, files, traits and a child process of the standard library.
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::process::Command;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use std::time::Duration;

trait Shape {
    fn area(&self) -> f64;
}

struct Circle(f64);
struct Square(f64);

impl Shape for Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * self.0 * self.0
    }
}

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl fmt::Display for Square {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "[{0}x{0}]", self.0)
    }
}

fn threads() {
    let total = Arc::new(Mutex::new(0u64));
    let workers: Vec<_> = (0..4u64)
        .map(|i| {
            let total = Arc::clone(&total);
            thread::spawn(move || {
                let part: u64 = (i * 1000..(i + 1) * 1000).sum();
                *total.lock().unwrap() += part;
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("threads {}", total.lock().unwrap());

    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for word in ["one", "two", "three"] {
            sender.send(word).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    });
    println!("channel {:?}", receiver.iter().collect::<Vec<_>>());
}

fn files() -> io::Result<()> {
    fs::create_dir_all("out")?;
    let mut file = fs::File::create("out/words.txt")?;
    for word in ["pear", "fig", "pear", "plum"] {
        writeln!(file, "{word}")?;
    }
    drop(file);
    let mut counts = BTreeMap::new();
    for line in BufReader::new(fs::File::open("out/words.txt")?).lines() {
        *counts.entry(line?).or_insert(0) += 1;
    }
    println!("files {counts:?} {}", fs::metadata("out/words.txt")?.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    threads();
    files()?;
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Circle(1.0)), Box::new(Square(2.0))];
    println!("shapes {:.3} {}", shapes.iter().map(|s| s.area()).sum::<f64>(), Square(2.0));
    let mut queue: VecDeque<_> = (1..=5).collect();
    queue.rotate_left(2);
    let odd: HashSet<_> = queue.iter().filter(|n| *n % 2 == 1).collect();
    println!("collections {queue:?} {}", odd.len());
    let child = Command::new("/bin/sh").args(["-c", "echo from sh; exit 3"]).output()?;
    print!("child {:?} {}", child.status.code(), String::from_utf8(child.stdout)?);
    println!("parse {:?}", "12x".parse::<i32>().map_err(|e| e.to_string()));
    let caught = std::panic::catch_unwind(|| {
        std::panic::set_hook(Box::new(|_| {}));
        panic!("unwinds");
    });
    println!("panic caught {}", caught.is_err());
    Ok(())
}
