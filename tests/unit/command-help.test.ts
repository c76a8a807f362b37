/** Help, the manual and its words. */

import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { manualPage } from "../../bin/commands/man.ts";
import { allOldWords, listIfAlone, withPresentWords } from "../../bin/entry.ts";
import { fitHelp, groups, helpOf } from "../../bin/help.ts";
import { topics } from "../../bin/man/chapters.ts";
import { run } from "../../bin/program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("an old word", () => {
  it.each([...allOldWords()])("%s stands for a command that is there: %j", (word, present) => {
    const [command = ""] = present;
    expect([...Object.keys(commands), "--version"]).toContain(command);
    expect(Object.keys(commands)).not.toContain(word);
    expect(withPresentWords([word, "x", "--json"])).toEqual([...present, "x", "--json"]);
    expect(withPresentWords(["help", word])).toEqual(["help", ...present]);
    expect(helpOf(["help", "all"], commands, 80) ?? "").not.toMatch(new RegExp(`^ {2}${word} `, "m"));
  });

  it("is only the first word", () => {
    expect(withPresentWords(["lock", "stop"])).toEqual(["lock", "stop"]);
    expect(withPresentWords([])).toEqual([]);
  });

  it("a command of subcommands lists without one, whatever its options, and still has help", () => {
    expect(listIfAlone(["task"])).toEqual(["task", "list"]);
    expect(listIfAlone(["message", "--json"])).toEqual(["message", "inbox", "--json"]);
    expect(listIfAlone(["lock", "--json"])).toEqual(["status", "--locks", "--json"]);
    for (const words of [
      ["lock", "--wait", "1"],
      ["lock", "--json", "a.ts"],
      ["lock", "--help"],
    ])
      expect(listIfAlone(words)).toEqual(words);
    for (const words of [
      ["task", "--help"],
      ["task", "-h"],
      ["help", "task"],
      ["task", "lst"],
    ])
      expect(withPresentWords(words)).toEqual(words);
  });
});

describe("help", () => {
  it("fits a terminal of 80 columns and 24 rows, prompt included", () => {
    const lines = (helpOf(["--help"], commands, 80) ?? "").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(80);
    expect(lines).toMatchInlineSnapshot(`
      [
        "Kite coordinates the coding agents of this machine.",
        "Usage: kite COMMAND [ARGUMENTS]",
        "",
        "Your first ten minutes:",
        "  kite install        connect your agents to Kite",
        "  kite status         see who is at work, who holds and who waits for what",
        "  kite explain FILE   see who has a file, and why an edit waits",
        "  kite off --for 1h   let every edit through for an hour",
        "  kite demo           watch four simulated sessions share two files",
        "",
        "Commands:",
        "  Start     install  uninstall  up  down  demo",
        "  Look      status  watch  explain  whose  diff  history  log  go",
        "  Act       off  on  lock  freeze  thaw  rename  rescue",
        "  Git       commit  undo  try  move",
        "  Plan      task  message",
        "  Agents    spawn  agents  merge",
        "  Machines  store",
        "  Trouble   doctor",
        "",
        "  kite help COMMAND   what one command does, with its options and an example",
        "  kite help all       every command, and the chapters: kite help TOPIC",
        "  kite --version      the version of this program",
      ]
    `);
  });

  it.each([60, 80, 120])("all names every command that is not hidden, in %i columns", columns => {
    const [text = ""] = (helpOf(["help", "all"], commands, columns) ?? "").split("\nChapters");
    for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(columns);
    const names = [...text.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name);
    expect(Object.keys(commands)).toEqual(expect.arrayContaining(Object.values(groups).flat()));
    const shown = Object.entries(commands).filter(([, { hidden }]) => hidden !== true);
    expect(names.sort()).toEqual(shown.map(([name]) => name).sort());
  });

  it.each(Object.keys(topics))(
    "has the chapter %s, plain, in 80 columns but for tables and examples",
    topic => {
      const text = helpOf(["help", topic], commands, 80) ?? "";
      for (const line of text.split("\n").filter(one => !/^(?: {2}|\|)/.test(one))) {
        expect(line.length, line).toBeLessThanOrEqual(80);
        expect(line.replace(/`[^`]*`?/g, "")).not.toMatch(/\*\*|```|\]\(/);
      }
    },
  );

  it("has no chapter of another name", () => {
    expect(helpOf(["help", "status"], commands, 80)).toBeNull();
  });
});

// Help on terminals narrower than it was written for.
describe("help on narrow terminals", () => {
  const help = `Usage: kite it

${"words of a paragraph ".repeat(5).trim()}
that goes on here.
Exit codes: 0 done.

Examples:
  $ kite it
  $ kite it ${"more ".repeat(12).trim()}`;

  describe("help", () => {
    it("takes 120 columns at most", () => {
      const wide = help.replace("paragraph\nthat goes on here.", "paragraph that goes on\nhere.");
      expect(fitHelp(help, 120)).toBe(wide);
      expect(fitHelp(help, Number.POSITIVE_INFINITY)).toBe(wide);
    });

    it("has its paragraphs set anew in fewer columns, and every other line for itself", () => {
      expect(fitHelp(help, 60)).toBe(`Usage: kite it

words of a paragraph words of a paragraph words of a
paragraph words of a paragraph words of a paragraph that
goes on here.
Exit codes: 0 done.

Examples:
  $ kite it
  $ kite it more more more more more more more more more
    more more more`);
    });
  });
});

// Chapters and help have plain words for what the wire, the journal and the code call otherwise.
describe("plain words", () => {
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
});

// `kite man` on a terminal, with a program in the place of man.
describe("`kite man` on a terminal", () => {
  /** Runs the command on a terminal or in a pipe; returns its exit code and what it wrote itself. */
  async function man(PATH: string, isTTY: boolean) {
    let out = "";
    const stdout = { isTTY, columns: 80, write: (text: string) => (out += text) };
    const call = {
      argv: ["node", "kite", "man"],
      env: { PATH, HOME: "/none" },
      stdout,
      stderr: stdout,
      cwd: () => "/",
    };
    return { code: await run(call, commands), out };
  }

  it("opens the page on a terminal, where there is man, and ends as man does", async () => {
    const folder = temporaryFolder("kite-man-");
    const shown = join(folder, "shown");
    writeFileSync(join(folder, "man"), `#!/bin/sh\n/bin/cat "$1" > ${shown}\nexit 3\n`);
    chmodSync(join(folder, "man"), 0o755);
    expect(await man(folder, true)).toEqual({ code: 3, out: "" });
    const page = readFileSync(shown, "utf8");
    expect(page).toContain(".TH KITE 1");
    expect(await man(folder, false)).toEqual({ code: 0, out: page });
    expect(await man("/none", true)).toEqual({ code: 0, out: page });
  });
});
