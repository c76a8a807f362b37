/**
 * Three sessions of the real client in one checkout: a lead that plans, one agent that mends a wrong multiplier, one that
 * adds paging. They run into each of the eight ways in which agents side by side fail, and get through.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TrailLine } from "../../daemon/trail/line.ts";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

const settings = { permissions: { allow: ["Bash"] } };
const question = "does a caller rely on the factor three?";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("prices.ts", "export const total = (n: number) => n * 3;\n");
  world.write("items.ts", "export const items = () => [1, 2, 3];\n");
  mkdirSync(world.path(".kite"));
  const checks = { test: { command: "grep -q 'n [*] 2' prices.ts" } };
  world.write(".kite/config.json", JSON.stringify({ checks }));
  const env = { PATH: process.env["PATH"], HOME: tmpdir(), GIT_CONFIG_NOSYSTEM: "1" };
  const git = (...args: string[]) => execFileSync("git", args, { cwd: world.repository, env });
  git("add", "prices.ts", "items.ts", ".kite");
  git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first");
  await world.kite("trust", "--yes", world.repository);
});
afterEach(() => world.dispose());

const read = (id: string, file: string) => call(id, "Read", { file_path: world.path(file) });
const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Look" });
const edit = (id: string, file: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });
const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>> = {}) =>
  call(id, `mcp__kite__kite_${tool}`, input);
const check = (id: string) =>
  bash(id, `KITE_HOME=${world.paths.home} ${process.execPath} ${programs.kite} check test`);

const understanding = (task: string) => ({
  ...{ task, confidence: 0.9, reason: "I read the code", plan: ["change it", "run the check"] },
});
const view = (file: string, will: string) => ({ file, sees: "one line", will });

async function start(name: string, script: readonly (Turn | Promise<Turn>)[]): Promise<ClaudeSession> {
  await world.tools(name);
  return await world.session(name, script, { settings });
}

/** How often the agent's edits were denied before the first one that ran. */
function blocksBeforeWrite({ hooks }: ClaudeSession): number {
  const edits = hooks.filter(({ name }) => /^(?:Pre|Post)ToolUse:Edit$/.test(name));
  const first = edits.findIndex(({ event }) => event === "PostToolUse");
  return edits.slice(0, first === -1 ? edits.length : first).filter(({ stdout }) => stdout.includes('"deny"'))
    .length;
}

test.each(["team", "strict"])("a lead and two agents, under %s: eight rows", async gates => {
  await world.up({ KITE_GATES: gates });
  const [planned, annDeclared, bobDeclared, annIsDone] = [
    new Moment(),
    new Moment(),
    new Moment(),
    new Moment(),
  ];
  const lead = await start("lead", [
    kite("toolu_declare", "declare", {
      identity: { role: "lead" },
      understanding: understanding("lead the work"),
    }),
    kite("toolu_task_1", "task_create", { description: "Mend the multiplier" }),
    kite("toolu_task_2", "task_create", { description: "Add paging" }),
    read("toolu_read", "prices.ts"),
    edit("toolu_denied", "prices.ts", "n * 3", "n * 2"),
    annIsDone.before(kite("toolu_status", "task_list", { which: "finished" })),
    say("Done."),
  ]);
  await lead.asked(6);
  planned.reached();

  const mended = understanding("double, not triple");
  const ann = await start("ann", [
    kite("toolu_claim", "task_claim"),
    read("toolu_read", "prices.ts"),
    // Under `strict` it is denied and says all that is missing; under `team` it runs.
    edit("toolu_first", "prices.ts", "n * 3", "n * 2"),
    kite("toolu_declare", "declare", {
      identity: { role: "implementer" },
      understanding: mended,
      codeView: [view("prices.ts", "a factor of two")],
      uncertainties: [{ question, settledBy: "a search for callers" }],
    }),
    bobDeclared.before(
      gates === "strict"
        ? edit("toolu_second", "prices.ts", "n * 3", "n * 2")
        : edit("toolu_second", "prices.ts", "n * 2;", "n * 2; // not three"),
    ),
    bash("toolu_fails", "exit 3"),
    say("I stop here."),
    bash("toolu_mended", "true"),
    kite("toolu_early", "task_complete", { task: "1", result: "doubled" }),
    kite("toolu_answer", "declare", {
      uncertainties: [{ question, evidence: "no caller multiplies", resolved: true }],
    }),
    annDeclared.before(check("toolu_check")),
    kite("toolu_late", "task_complete", { task: "1", result: "doubled" }),
    say("Done."),
  ]);
  await ann.asked(5);
  const bob = await start("bob", [
    kite("toolu_claim", "task_claim"),
    kite("toolu_declare", "declare", {
      identity: { role: "implementer" },
      understanding: understanding("page the items"),
      codeView: [view("items.ts", "pages"), view("prices.ts", "nothing yet")],
    }),
    read("toolu_read", "items.ts"),
    edit("toolu_first", "items.ts", "[1, 2, 3]", "[1, 2]"),
    kite("toolu_drop", "declare", { codeView: [{ file: "prices.ts", drop: true }] }),
    bash("toolu_wait", "sleep 1"),
    say("My edit is there."),
  ]);
  await bob.asked(3);
  const seen = await world.status();
  bobDeclared.reached();
  expect(await bob.ended).toBe(0);
  annDeclared.reached();
  expect(await ann.ended).toBe(0);
  annIsDone.reached();
  expect(await lead.ended).toBe(0);

  const lines: TrailLine[] = (await world.kite("log", "--json", "-n", "1000"))
    .split("\n")
    .filter(line => line !== "")
    .map(line => JSON.parse(line));
  const ruled = (rule: string, decision: string, { id }: ClaudeSession) =>
    lines.filter(
      line => line.id === id && line.decision === decision && (line.rule ?? "").split(",").includes(rule),
    ).length;
  const started = ann.hooks.find(({ event }) => event === "SessionStart")?.stdout ?? "";
  const rows: Record<string, unknown> = {
    "1 what an agent plans is in status": JSON.stringify(seen).includes("double, not triple"),
    "2 an overlap is told when it is declared": ruled("declaration", "note", bob),
    "3 the queue says what is done": /\bdone\b/.test(lead.model.result("toolu_status").text),
    "4 the lead delegates": ruled("delegation", "deny", lead),
    "5 nobody stops on an error": ruled("recovery", "deny", ann),
    "6 nobody starts from zero": started.includes("lead the work"),
    "7 done means checked": ruled("quality", "deny", ann),
    "8 a question is answered by evidence": ann.model.result("toolu_early").text.includes(question),
  };
  const blocks = { ann: blocksBeforeWrite(ann), bob: blocksBeforeWrite(bob) };
  console.log(
    `${gates}: blocks before the first write ${JSON.stringify(blocks)}\n${JSON.stringify(rows, null, 2)}`,
  );
  for (const [row, evidence] of Object.entries(rows)) expect(evidence, row).toBeTruthy();
  const most = gates === "strict" ? 1 : 0;
  expect(Math.max(blocks.ann, blocks.bob)).toBeLessThanOrEqual(most);
  expect(ann.model.result("toolu_late")).toMatchObject({ isError: false });
  expect(world.read("prices.ts")).toContain("n * 2");
  expect(world.read("items.ts")).toContain("[1, 2]");
});
