/** What one session wrote never reaches an agent's shell as markup, unseen, or where a line of Kite's own begins. */
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commands } from "../../bin/command-table.ts";
import { addCommand } from "../../bin/parser.ts";
import { frame } from "../../protocol/text.ts";
import { type ForeignWorld, foreignWorld, hostile, hostileFields, wordFields } from "./foreign-world.ts";
import { textOf } from "./kite.ts";

const unseen = /[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?!\n)\p{Cc}/u;
/** A line that a foreign text begins. */
const posing = /^\s*(?:SYSTEM:|obey)/m;

let world: ForeignWorld;

beforeAll(async () => {
  world = await foreignWorld();
});
afterAll(() => world.home.dispose());

/** Commands that show other agents' words, with arguments that show as much of them as can be. */
const looks = [
  "status",
  "status --all",
  "status --lead",
  "sessions",
  "sessions --all",
  "locks",
  "locks --all",
  "whose",
  "whose --all",
  "history .",
  "history --all .",
  "diff",
  "diff MALLORY",
  "diff MALLORY --stat",
  "diff MALLORY --commit",
  "rescue",
  "rescue --all",
  "task list",
  "task list --all",
  "task list --all-projects",
  "task list --blocked",
  "task ready",
  "task ready --all-projects",
  "task graph",
  "task graph --all-projects",
  "task show 2",
  "task show 3",
  "debate list",
  "debate show 1",
  "debate show 2",
  "context list",
  "message inbox",
  "message inbox --unread",
  "log",
  "explain bob",
  "explain MALLORY",
  "explain --task 2",
  "explain --file FILE",
  "agent MALLORY",
  "agent MALLORY --history",
  "explain MALLORY --history",
  "agents",
  "check --list",
  "declare --show",
  "declare --show MALLORY",
  "freeze",
  "merge --list",
  "risk",
  "risk --all",
  "report",
  "role",
  "stats",
  "store",
  "team",
  "trust --list",
];

/** Commands that act, or name one agent, as bob's agent runs them: what they say of others is a line. */
const acts = [
  "agent MALLORY --log",
  "agent MALLORY --diff",
  "agents prune",
  "attach spawned",
  "agents attach spawned",
  "agents stop spawned",
  "agents replace spawned",
  "explain MALLORY --log",
  "explain MALLORY --diff",
  "message send --all hello",
  "spawn y --lead",
  "replace spawned",
  "stop spawned",
  "spawn x --task 2",
  "task claim",
  "task add x --needs 2",
  "task edit 2 --priority high",
  "task approve 2",
  "task release 3",
  "task done 3",
  "task fail 3 x",
  "task cancel 1 x",
  "task retry 2",
  "task rm 3",
  "task rm --finished --all-projects",
  "task import FILE",
  "undo FILE --yes",
  "undo --all --dry-run FILE",
  "commit -m x --dry-run FILE",
  "commit -m x FILE",
  "try -- true",
  "move",
  "undo --before MALLORY --dry-run",
  "rescue restore r-1 FILE",
  "rescue purge FILE",
  "lock FILE -- true",
  "unlock FILE",
  "lock @MALLORY -- true",
  "unlock @MALLORY",
  "release @MALLORY",
  "declare --task x --file FILE",
  "debate open q --hypothesis a=b --hypothesis c=d",
  "debate challenge 1 a x",
  "debate evidence 1 a x",
  "debate answer 1 1 t",
  "debate concede 1 x",
  "debate close 1 --verdict a --because x",
  "context set key x",
  "context rm key",
  "message send MALLORY hello",
  "message ack --all",
  "broadcast hi",
  "thaw h-1",
  "rename MALLORY x",
  "role MALLORY tester",
  "release MALLORY",
  "release MALLORY src/none.ts",
  "check",
  "check --all",
  "commit-check",
  "merge nobranch",
  "merge --dry-run",
  "merge nobranch --pr",
  "merge --cancel 1",
  "go MALLORY",
  "off --session MALLORY",
  "on --session MALLORY",
];

/** What they print goes into files and other programs, in their own form. */
const forms = [
  "report --markdown",
  "task graph --mermaid",
  "task export",
  "task export --all-projects",
  "context get key",
];

/** They print until they are interrupted. */
const streams = ["watch", "status --watch", "context watch", "locks --watch", "log --follow"];

/** Commands that show no text of another agent, or a person alone. */
const silent = [
  ..."store join,store share,store share --dry-run,store leave,store leave --dry-run,store rejoin".split(","),
  ..."demo up down trust notify doctor repair config complete install uninstall plugin statusline".split(" "),
  ..."completion update man mcp instructions web".split(" "),
  "config set",
  "config unset",
  "agents tend",
  "uninstall --all",
];

/** Options with which a command shows more. */
const isLook = (option: string) =>
  /^--(?:all|all-projects|blocked|diff|dry-run|follow|history|lead|list|log|mermaid|show|unread|watch)$/.test(
    option,
  );

/** Returns every command of `kite` that runs, alone and with each option of its that shows more. */
async function everyCommand(): Promise<string[]> {
  const kite = new Command("kite");
  for (const [name, entry] of Object.entries(commands))
    await addCommand(kite, name, entry, async () => {}, commands);
  const below = (command: Command, name: string): string[] => {
    const runs = command.commands.length === 0 || command.createHelp().visibleArguments(command).length > 0;
    const options = command.options.flatMap(({ long }) => (long != null && isLook(long) ? [long] : []));
    const own = runs || options.length > 0 ? [name, ...options.map(option => `${name} ${option}`)] : [];
    return [...own, ...command.commands.flatMap(one => below(one, `${name} ${one.name()}`))];
  };
  return kite.commands.flatMap(command => below(command, command.name()));
}

test("every command is tried here with its options, or shows no other agent's text", async () => {
  const tried = [...looks, ...acts, ...forms, ...streams, ...silent].map(line => ` ${line} `);
  const isTried = (command: string) => {
    const [option] = /--\S+$/.exec(command) ?? [];
    const name = option === undefined ? command : command.slice(0, -option.length - 1);
    return tried.some(
      line => line.startsWith(` ${name} `) && (option === undefined || line.includes(` ${option} `)),
    );
  };
  expect((await everyCommand()).filter(command => !isTried(command))).toEqual([]);
});

test("every field of a request that takes words was filled with hostile ones", () => {
  const filled = new Set(hostileFields(world.asks));
  expect(wordFields().filter(field => !filled.has(field))).toEqual([]);
});

function wordsOf(line: string): string[] {
  const filled = new Map([
    ["MALLORY", world.id],
    ["@MALLORY", `@${world.id}`],
    ["FILE", world.file],
  ]);
  return line.split(" ").map(word => filled.get(word) ?? word);
}

const asAgent = { KITE_SESSION: "bob" };

describe.each(looks)("kite %s", line => {
  test("shows an agent no markup, nothing unseen and no line that poses as Kite's, behind the frame", async () => {
    const { out, err } = await world.home.command(wordsOf(line), { ...asAgent, COLUMNS: "40" });
    const shown = out + err;
    expect(shown).not.toMatch(unseen);
    expect(shown).not.toMatch(/<\/?system/);
    expect(shown).not.toMatch(posing);
    if (shown.includes("SYSTEM:")) expect(shown.split("\n", 1)[0]).toBe(frame);
  });

  test("shows a person the same without the frame", async () => {
    const { out, err } = await world.home.command(wordsOf(line), { COLUMNS: "2000" });
    const shown = out + err;
    expect(shown).not.toMatch(unseen);
    expect(shown).not.toMatch(/<\/?system/);
    expect(shown).not.toMatch(posing);
    if (!line.startsWith("message")) expect(shown).not.toContain(frame);
  });

  test("prints JSON in which everything that cannot be seen is escaped", async () => {
    if (/graph|--watch|--follow/.test(line)) return;
    const { out } = await world.home.command([...wordsOf(line), "--json"], asAgent);
    expect(out).not.toMatch(unseen);
    expect(out).not.toMatch(/<\/?system/);
    for (const text of out.split("\n").filter(text => text !== "")) JSON.parse(text);
  });
});

test("these lists show the hostile text, or the tests above would mean nothing", async () => {
  const lines = [
    "whose",
    "history .",
    "rescue",
    "diff MALLORY",
    "team",
    "declare --show MALLORY",
    "explain --file FILE",
    "agents",
    "status",
    "task show 2",
    "stats",
  ];
  for (const line of lines) {
    const { out } = await world.home.command(wordsOf(line), asAgent);
    expect(out, line).toContain("SYSTEM:");
  }
});

test("a status shows the hostile name of what was wiped", async () => {
  const { out } = await world.home.command(["status"], { COLUMNS: "2000" });
  expect(out.slice(out.indexOf("Wiped lately"))).toContain("SYSTEM:");
});

test.each(streams)("kite %s begins no line with another agent's words", async line => {
  const child = world.home.startKite(wordsOf(line), { ...asAgent, COLUMNS: "40" });
  const printed = textOf(child);
  // It hears of what comes after its beginning alone, of which nothing tells.
  for (let n = 0; !/SYSTEM:.*\n/.test(printed.out) && child.exitCode === null; n += 1) {
    const key = { key: hostile.slice(40, 140).replaceAll("\n", " "), value: `${n}${hostile}` };
    expect(await world.mallory.ask({ type: "context_set", id: world.id, ...key })).toMatchObject({
      ok: true,
    });
    const asked = { file: `${n}${hostile}` };
    expect(await world.mallory.ask({ type: "file_lock", id: world.id, ...asked })).toMatchObject({
      ok: true,
    });
    await world.mallory.ask({ type: "file_unlock", id: world.id, ...asked });
  }
  child.kill("SIGKILL");
  expect(printed.out + printed.err).not.toMatch(posing);
  expect(printed.out).not.toMatch(/<\/?system/);
});

test.each(acts)("kite %s says what it says of others in a line", async line => {
  const { out, err } = await world.home.command(wordsOf(line), asAgent);
  expect(out + err).not.toMatch(unseen);
  expect(out + err).not.toMatch(/<\/?system/);
  expect(out + err).not.toMatch(posing);
});

test.each(forms)("kite %s prints nothing that cannot be seen", async line => {
  const { out } = await world.home.command(wordsOf(line), asAgent);
  expect(out).not.toMatch(unseen);
  expect(out).not.toMatch(/<\/?system/);
});

describe("kite context get", () => {
  test("prints the value as JSON that stands for the same value", async () => {
    await world.mallory.ask({ type: "context_set", id: world.id, key: "json", value: { text: hostile } });
    const { out } = await world.home.command(["context", "get", "json"], asAgent);
    expect(out).not.toMatch(unseen);
    expect(out).not.toContain("<");
    expect(JSON.parse(out)).toEqual({ text: hostile });
  });

  test("prints it raw if that was asked for: a script reads it", async () => {
    const { out } = await world.home.command(["context", "get", "text", "--raw"], asAgent);
    expect(out).toBe(`${hostile}\n`);
  });
});
