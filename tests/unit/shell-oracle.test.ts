/** What a shell line runs, told by a real shell, against what is read from the line alone. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { programOf } from "../../hooks/shell/launchers.ts";
import { readShell } from "../../hooks/shell/parser.ts";
import { walkShell } from "../../hooks/shell/simple.ts";
import type { Value } from "../../hooks/shell/variables.ts";
import type { Invocation } from "../../hooks/shell/walk.ts";
import { exactForms, looseForms, setForms } from "./shell-forms.ts";
import { type Call, lines, ShellWorld } from "./shell-lines.ts";

/** The same lines each time; others, and more, on request. */
const runs = {
  seed: Number(process.env["KITE_SHELL_SEED"] ?? 1),
  numRuns: Number(process.env["KITE_SHELL_RUNS"] ?? 40),
};

const world = new ShellWorld();

/** The calls of git that are read from a line. */
function found(line: string): readonly Invocation[] {
  const all: Invocation[] = [];
  const { node, unread } = readShell(line);
  expect(unread).toBeNull();
  const tooMuch = walkShell(node, world.dir, run => {
    if (programOf(run.values) === "git") all.push(run);
  });
  expect(tooMuch).toBeNull();
  return all;
}

/** What is not known may be any words, or none. */
function fits([first, ...rest]: readonly Value[], args: readonly string[]): boolean {
  if (first === undefined) return args.length === 0;
  if (first.known) return args[0] === first.text && fits(rest, args.slice(1));
  return args.some((_, i) => fits(rest, args.slice(i))) || fits(rest, []);
}

const isOf = (call: Call) => (run: Invocation) => isIn(run, call.dir) && fits(run.values.slice(1), call.args);

function isIn({ dir, isBelow }: Invocation, where: string): boolean {
  return dir === null || dir === where || (isBelow && where.startsWith(`${dir}/`));
}

/** Whether every call has a reading of its own. */
function pairs(calls: readonly Call[], runs: readonly Invocation[]): boolean {
  const taken = new Map<Invocation, Call>();
  const place = (call: Call, seen: Set<Invocation>): boolean =>
    runs.filter(isOf(call)).some(run => {
      if (seen.has(run)) return false;
      seen.add(run);
      const other = taken.get(run);
      if (other !== undefined && !place(other, seen)) return false;
      taken.set(run, call);
      return true;
    });
  return calls.every(call => place(call, new Set()));
}

const told = (calls: readonly Call[], runs: readonly Invocation[]) =>
  `git ran:\n${calls.map(c => JSON.stringify(c)).join("\n")}\nread:\n${runs
    .map(({ dir, values }) =>
      JSON.stringify({ dir, args: values.slice(1).map(v => (v.known ? v.text : { from: v.text })) }),
    )
    .join("\n")}`;

describe("whatever a line is made of", () => {
  test("where every command runs, each call of git is read, with its words and where, and no other", () => {
    let compared = 0;
    fc.assert(
      fc.property(lines(true), line => {
        const calls = world.run(line);
        if (calls === null) return;
        compared += calls.length;
        const runs = found(line);
        const explained = told(calls, runs);
        expect(pairs(calls, runs), explained).toBe(true);
        expect(runs.length, explained).toBe(calls.length);
      }),
      runs,
    );
    expect(compared).toBeGreaterThan(20);
  });

  test("where commands may run or not, none that ran is missing", () => {
    let compared = 0;
    fc.assert(
      fc.property(lines(false), line => {
        const calls = world.run(line);
        if (calls === null) return;
        compared += calls.length;
        const runs = found(line);
        for (const call of calls) expect(runs.some(isOf(call)), told([call], runs)).toBe(true);
      }),
      runs,
    );
    expect(compared).toBeGreaterThan(20);
  });
});

describe("every way to get git behind something else", () => {
  test.each(exactForms)("%s: what runs is read, and nothing else", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(calls).not.toEqual([]);
    const runs = found(line);
    const explained = told(calls ?? [], runs);
    expect(pairs(calls ?? [], runs), explained).toBe(true);
    expect(runs.length, explained).toBe(calls?.length);
    // Nothing is left open, either.
    expect(
      runs.every(({ values }) => values.slice(1).every(({ known }) => known)),
      explained,
    ).toBe(true);
  });

  test.each(looseForms)("%s: what runs is read, with words that are not known", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(calls).not.toEqual([]);
    const runs = found(line);
    for (const call of calls ?? []) expect(runs.some(isOf(call)), told([call], runs)).toBe(true);
    // What it is called with is not any word whatever.
    for (const { values } of runs) expect(values[1]?.known, told(calls ?? [], runs)).toBe(true);
  });

  test.each(setForms)("%s: what is set on the line is followed as the shell does", line => {
    const calls = world.run(line);
    expect(calls).not.toBeNull();
    expect(pairs(calls ?? [], found(line)), told(calls ?? [], found(line))).toBe(true);
  });
});
