/** A short churn; `npm run churn` is one as long as wanted. */
import { afterEach, expect, test } from "vitest";
import { bounds, Churn, judge, type Sample } from "./churn.ts";

let churn: Churn | null = null;
afterEach(() => churn?.dispose());

test("clients that come and go in every way leave nothing behind", async () => {
  churn = await Churn.start();
  // It warms up.
  for (let n = 0; n < 3; n += 1) await churn.round();
  const samples: Sample[] = [];
  for (let n = 0; n < 10; n += 1) samples.push(await churn.round());
  const open = samples.map(sample => sample.descriptors);
  expect(Math.max(...open) - Math.min(...open)).toBeLessThanOrEqual(bounds.descriptors);
  await churn.fillsUp();
});

test("growth beyond its bound is found", () => {
  const mib = 1024 * 1024;
  const samples = (rss: (n: number) => number, descriptors: (n: number) => number): Sample[] =>
    Array.from({ length: 100 }, (_, n) => ({ rssBytes: rss(n) * mib, descriptors: descriptors(n) }));
  expect(
    judge(
      samples(
        n => 80 + (n % 7),
        n => 25 + (n % 3),
      ),
    ).grown,
  ).toEqual([]);
  expect(
    judge(
      samples(
        n => 80 + n,
        () => 25,
      ),
    ).grown,
  ).toEqual(["memory (MiB): first 85.0, last 175.0, median 130.0, at most 130.3"]);
  expect(
    judge(
      samples(
        () => 80,
        n => 25 + Math.floor(n / 5),
      ),
    ).grown,
  ).toEqual(["descriptors: first 26, last 44, median 35, at most 34"]);
});
