import { describe, expect, it } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { allOldWords, listIfAlone, withPresentWords } from "../../bin/entry.ts";
import { groups, helpOf } from "../../bin/help.ts";
import { topics } from "../../bin/man/chapters.ts";

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
        "  Act       off  on  lock  freeze  thaw  rename  undo  rescue",
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
