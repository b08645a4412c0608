//! Values counted in buckets.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::HistogramDataPoint;

/// Which buckets.
#[derive(Clone, Copy)]
pub(crate) enum Buckets {
    /// For how long something took.
    Seconds,
    /// For how often something was done.
    Counts,
}

impl Buckets {
    /// The upper ends of all buckets but the last.
    fn bounds(self) -> &'static [f64] {
        match self {
            Self::Seconds => &[
                0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
                163.84, 327.68, 655.36, 1310.72, 2621.44,
            ],
            Self::Counts => &[0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0],
        }
    }
}

pub(crate) struct Histogram {
    buckets: Buckets,
    counts: Vec<u64>,
    sum: f64,
    least: f64,
    most: f64,
}

impl Histogram {
    pub(crate) fn new(buckets: Buckets) -> Self {
        let counts = vec![0; buckets.bounds().len() + 1];
        Self { buckets, counts, sum: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY }
    }

    pub(crate) fn add(&mut self, value: f64) {
        let at = self.buckets.bounds().partition_point(|bound| *bound < value);
        self.counts[at] += 1;
        self.sum += value;
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    pub(crate) fn point(&self, attributes: Vec<KeyValue>, start: u64, now: u64) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes,
            start_time_unix_nano: start,
            time_unix_nano: now,
            count: self.counts.iter().sum(),
            sum: Some(self.sum),
            bucket_counts: self.counts.clone(),
            explicit_bounds: self.buckets.bounds().to_vec(),
            min: Some(self.least),
            max: Some(self.most),
            ..HistogramDataPoint::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_buckets_whose_ends_are_theirs() {
        let mut histogram = Histogram::new(Buckets::Counts);
        for value in [0.0, 1.0, 3.0, 4.0, 9_999.0] {
            histogram.add(value);
        }
        let point = histogram.point(Vec::new(), 1, 2);
        assert_eq!(point.bucket_counts, [1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(
            (point.count, point.sum, point.min, point.max),
            (5, Some(10_007.0), Some(0.0), Some(9_999.0))
        );
        assert_eq!(point.explicit_bounds.len() + 1, point.bucket_counts.len());
    }
}
