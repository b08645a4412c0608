//! Numbers as people read them: grouped digits, counted nouns, durations. One way for every text that Posse
//! writes.

/// A number with its thousands apart: `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A noun in the form that a number asks for: `turn`, `turns`.
pub fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// A number and what it counts: `1 turn`, `2 turns`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), plural(number, noun))
}

/// A duration: `0.8 s`, `12 s`, `3 min 5 s`, `2 h 10 min`.
pub fn duration(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times() {
        let numbers = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, want) in numbers {
            assert_eq!(grouped(number), want);
        }
        for (number, want) in [(0, "0 turns"), (1, "1 turn"), (2_000, "2,000 turns")] {
            assert_eq!(counted(number, "turn"), want);
        }
        let times = [
            (0, "0.0 s"),
            (1234, "1.2 s"),
            (59_999, "59 s"),
            (185_000, "3 min 5 s"),
            (7_800_000, "2 h 10 min"),
        ];
        for (ms, want) in times {
            assert_eq!(duration(ms), want);
        }
    }
}
