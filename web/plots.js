// The geometry of plots: scales, ticks, and where bars lie. Pure numbers; `stats.js` draws them.

const STEPS = [1, 2, 2.5, 5, 10];

/** Round values from 0 to at least `max`, about `wanted` steps of `unit`s. Nothing to show has one step. */
export function ticks(max, wanted = 4, unit = 1) {
  if (!(max > 0) || !Number.isFinite(max)) return [0, unit];
  const rough = max / unit / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = STEPS.map((one) => one * power).find((one) => one >= rough * (1 - 1e-9)) * unit;
  return Array.from({ length: Math.ceil(max / step - 1e-9) + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** The unit in which ticks of a time are round: days, hours, minutes or seconds. */
export const timeUnit = (ms) => [86_400_000, 3_600_000, 60_000, 1000].find((unit) => ms >= 2 * unit) ?? 1;

/** A function from values to pixels. */
export const scale = (max, pixels) => (value) => (max > 0 ? Math.max(0, Math.min(1, (value ?? 0) / max)) * pixels : 0);

/** Values as pieces one after another. */
export function stacked(values) {
  let sum = 0;
  return values.map((value) => ({ from: sum, to: (sum += value ?? 0) }));
}

/** The largest value of rows; the largest sum if their values are one after another. */
export function largest(rows, pile) {
  const of = (values) => (pile ? stacked(values).at(-1).to : Math.max(...values));
  return rows.reduce((most, { values }) => Math.max(most, of(values)), 0);
}

/** Where horizontal bars lie, right of `label` pixels for names: the values of a row below each other, or as a `pile` one after another. */
export function barPlot(rows, { width, label, max, unit, pile }) {
  const values = ticks(max, Math.max(2, Math.min(5, Math.floor((width - label) / 90))), unit);
  const along = scale(values.at(-1), Math.max(1, width - label - 14));
  const each = pile ? 1 : rows[0]?.values.length ?? 1;
  const band = each > 1 ? 11 : 15;
  const step = each * band + 8;
  const bar = (from, to, y) => ({ x: label + along(from), width: to > from ? Math.max(1, along(to) - along(from)) : 0, y, height: band - 2 });
  return {
    base: rows.length * step,
    step,
    ticks: values.map((value) => ({ value, x: label + along(value) })),
    rows: rows.map((row, index) => {
      const y = index * step + 5;
      return pile ? stacked(row.values).map(({ from, to }) => bar(from, to, y)) : row.values.map((value, at) => bar(0, value ?? 0, y + at * band));
    }),
  };
}
