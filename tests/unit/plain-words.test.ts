/** Chapters and help have plain words for what the wire, the journal and the code call otherwise. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { manualPage } from "../../bin/commands/man.ts";
import { topics } from "../../bin/man/chapters.ts";

/** The word, and what people read for it. */
const plain: readonly (readonly [word: RegExp, instead: string])[] = [
  [/\bturns?\b/i, "until it has answered"],
  [/\bexplicit(ly)?\b/i, "kept lock"],
  [/\byield(s|ed|ing)?\b/i, "is passed on"],
  [/\btrail\b/i, "log"],
  [/\b(wakes?|waked|woken|waking)\b/i, "goes on"],
  [/\b(rests|resting)\b/i, "is idle"],
  [/\b(session|agent)s? (is|are) lost\b/i, "nothing is heard of it"],
  [/\bbypass(es|ed)?\b/i, "changed past a lock"],
];

/** Words of the wire that stand as they are: code, paths, values and fields. */
function prose(text: string): string {
  return text
    .split("\n")
    .filter(line => !/^\s*(\||[{"]|\$ )/.test(line) && !/^\s*--json/.test(line) && !/\.I |\\fB/.test(line))
    .join("\n")
    .replace(/`[^`]*`|"[^"]*"/g, "");
}

function jargon(text: string): string[] {
  return prose(text)
    .split("\n")
    .flatMap(line =>
      plain.filter(([word]) => word.test(line)).map(([, instead]) => `${line.trim()} -> ${instead}`),
    );
}

test("finds the words", () => {
  expect(jargon("Its turn lock yields; see the trail.")).toHaveLength(3);
  expect(jargon("`turn` stays; so does work that would be lost")).toEqual([]);
});

test("no chapter has them", () => {
  const found = Object.keys(topics).map(topic => {
    const file = new URL(`../../bin/man/${topic}.md`, import.meta.url);
    return [topic, jargon(readFileSync(file, "utf8"))] as const;
  });
  expect(found.filter(([, lines]) => lines.length > 0)).toEqual([]);
});

test("no help of a command has them, nor the manual page", async () => {
  const all = Object.entries(commands).map(([name, { hidden: _, ...entry }]) => [name, entry] as const);
  const shown = await manualPage(Object.fromEntries(all), "0");
  expect(
    Object.keys(commands).filter(name => !shown.includes(`.SS kite ${name.replaceAll("-", "\\-")}\n`)),
  ).toEqual([]);
  expect(jargon(shown)).toEqual([]);
});

test("README has them nowhere", () => {
  expect(jargon(readFileSync(new URL("../../README.md", import.meta.url), "utf8"))).toEqual([]);
});
