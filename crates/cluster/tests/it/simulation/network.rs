//! The courier of the simulated world: it drops, repeats, delays and cuts, as its seed says, until faults stop.

use fastrand::Rng;

/// How bad the weather is.
pub(super) struct Network {
    drop_percent: u32,
    repeat_percent: u32,
    delay_ms_max: u64,
    /// Links that are cut: worker, direction, from, to.
    cuts: Vec<(usize, Direction, u64, u64)>,
    pub(super) calm_from_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl Network {
    pub(super) fn new(rng: &mut Rng, workers: usize, calm_from_ms: u64) -> Self {
        let cut = |rng: &mut Rng| {
            let from = rng.u64(0..calm_from_ms);
            let to = (from + rng.u64(200..4_000)).min(calm_from_ms);
            let worker = rng.usize(0..workers);
            match rng.u8(0..3) {
                0 => vec![(worker, Direction::Up, from, to)],
                1 => vec![(worker, Direction::Down, from, to)],
                _ => vec![(worker, Direction::Up, from, to), (worker, Direction::Down, from, to)],
            }
        };
        let cuts = (0..rng.usize(0..6)).flat_map(|_| cut(rng)).collect();
        Self {
            drop_percent: rng.u32(0..40),
            repeat_percent: rng.u32(0..30),
            delay_ms_max: rng.u64(5..600),
            cuts,
            calm_from_ms,
        }
    }

    /// When copies of a message arrive; none if it is lost.
    pub(super) fn carry(&self, rng: &mut Rng, now_ms: u64, worker: usize, direction: Direction) -> Vec<u64> {
        if now_ms >= self.calm_from_ms {
            return vec![now_ms + rng.u64(1..20)];
        }
        let is_cut = self.cuts.iter().any(|(who, way, from, to)| {
            *who == worker && *way == direction && (*from..*to).contains(&now_ms)
        });
        if is_cut || rng.u32(0..100) < self.drop_percent {
            return Vec::new();
        }
        let copies = if rng.u32(0..100) < self.repeat_percent { 2 } else { 1 };
        // Now and then one is delayed for long: it arrives in another epoch.
        let delay = |rng: &mut Rng| match rng.u8(0..40) {
            0 => rng.u64(1_000..5_000),
            _ => rng.u64(1..=self.delay_ms_max),
        };
        (0..copies).map(|_| now_ms + delay(rng)).collect()
    }
}

/// A clock with an offset that runs at its own speed, in parts of a thousand.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    offset_ms: u64,
    speed_permille: u64,
}

impl Clock {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Self { offset_ms: rng.u64(0..1_000_000), speed_permille: rng.u64(990..=1_010) }
    }

    pub(super) fn at_speed(rng: &mut Rng, speed_permille: u64) -> Self {
        Self { offset_ms: rng.u64(0..1_000_000), speed_permille }
    }

    pub(super) fn read(&self, real_ms: u64) -> u64 {
        self.offset_ms + real_ms * self.speed_permille / 1_000
    }
}
