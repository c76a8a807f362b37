/** A hundred mistakes, each a row of `tests/fixtures/mistakes.md`: what Kite says, and that its advice holds in that state. */
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { withPresentWords } from "../../bin/entry.ts";
import { widthOf } from "../../bin/view/text.ts";
import { MistakesWorld, type Place } from "./mistakes-world.ts";

let world: MistakesWorld;
beforeAll(async () => {
  world = await MistakesWorld.start();
});
afterAll(() => world.dispose());
afterEach(() => world.restore());

interface Row {
  readonly at: Place;
  readonly typed: string;
  readonly exit: number;
  readonly text: string;
  /** Empty: the advice is no command. */
  readonly tried: string;
}

const table = readFileSync(fileURLToPath(new URL("../fixtures/mistakes.md", import.meta.url)), "utf8");
const rows = table.split("\n").flatMap((line): Row[] => {
  const [at, typed = "", exit = "", says = "", todo = "", tried = ""] = line
    .split("|")
    .slice(1, -1)
    .map(cell => cell.trim());
  if (at === undefined || at === "Where" || at === "---") return [];
  return [{ at: at as Place, typed, exit: Number(exit), text: `${says} ${todo}`.trim(), tried }];
});

/** Words of the wire, of the packages that read values and command lines, of the system, and raw ids. */
const foreign =
  /\b(?:task|file|message|context|debate|spawn|role|agent)_(?:[a-z]+_)*[a-z]+\b|\binvalid_request\b|Invalid input|Unrecognized|Too (?:big|small)|\breceived\b|\bundefined\b|\bnull\b|missing required|Allowed choices|^\s+at |node:|\bE[A-Z]{4,}\b|\bt-[0-9a-z]+-\d|7c1e-/m;

/** The text on one line, as the table has it. */
function plain(text: string): string {
  const others = new RegExp(`, (?:ana|${userInfo().username})(?:@terminal)?(?:-\\d+)?\\b`, "g");
  return world
    .named(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^kite: /, "")
    .replace(others, "")
    .replace(/\bit knows .*$/, "it knows ...")
    .replace(/\b(?:less than a second|\d+ s)\b/g, "N s");
}

it("the table has a hundred rows, each another one", () => {
  expect(new Set(rows.map(({ at, typed }) => `${at} ${typed}`)).size).toBe(rows.length);
  expect(rows.length).toBeGreaterThanOrEqual(100);
});

describe("a mistake", () => {
  it.each(rows)("$at: $typed", async ({ at, typed, exit, text, tried }) => {
    const { code, out, err } = await world.run(at, typed);
    expect({ code, text: plain(out + err) }).toEqual({ code: exit, text });
    // The code of a tool's refusal is for programs.
    expect(`${out}${err}`.replace(/^Refused \([a-z_]+\): /, "").replace(/kite_\w+/g, "")).not.toMatch(
      foreign,
    );
    const isPersons = at !== "agent" && at !== "ghost" && at !== "tool";
    if (isPersons)
      for (const line of (out + err).split("\n")) expect(widthOf(line), line).toBeLessThanOrEqual(120);
    for (const [, word = ""] of text.matchAll(/(?<![./])\bkite (?!was)([a-z]+)\b/g))
      expect(Object.keys(commands), word).toContain(withPresentWords([word])[0]?.replace("help", "status"));
    if (tried === "") return;
    // The advice names the command, or only the words that are missing behind the one that was typed.
    const [first = ""] = tried.split(" ");
    expect(`${text} ${typed}`).toContain(first);
    const after = await world.run(at === "agent" ? "shop" : at, tried);
    expect(after, tried).toMatchObject({ code: 0 });
  });

  /** Help has no --json, an option takes it as its value, and programs may try again what is at work. */
  const exceptions = ["help tasks", "help nothing", "off --for", "task retry 2"];
  const isForPrograms = ({ at, typed, exit }: Row) =>
    exit !== 0 && at !== "tool" && !typed.includes(" -- ") && !exceptions.includes(typed);

  it.each(rows.filter(isForPrograms))(
    "$at: $typed --json prints one refusal, for programs",
    async ({ at, typed, exit }) => {
      const { code, out, err } = await world.run(at, typed, ["--json"]);
      const isLock = typed.startsWith("lock");
      const line = isLock ? err : out;
      expect({ code, other: isLock ? out : err }).toEqual({ code: exit, other: "" });
      expect(line).toMatch(/^[^\n]+\n$/);
      expect(JSON.parse(line)).toMatchObject({ code: expect.any(String), error: expect.any(String) });
      expect(JSON.parse(line)).toMatchObject(isLock ? { is: "refused" } : { ok: false });
    },
  );
});
