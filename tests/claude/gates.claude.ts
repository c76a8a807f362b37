/** Gates, declarations and their notices, with sessions of the real client that run into them and get through. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

const settings = { permissions: { allow: ["Bash"] } };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("prices.ts", "export const total = (n: number) => n * 3;\n");
  world.write("items.ts", "export const items = () => [1, 2, 3];\n");
});
afterEach(() => world.dispose());

const up = (gates: string) => world.up({ KITE_GATES: gates });
const read = (id: string, file: string) => call(id, "Read", { file_path: world.path(file) });
const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Look" });
const edit = (id: string, file: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });
const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>> = {}) =>
  call(id, `mcp__kite__kite_${tool}`, input);

/** A whole declaration for these files. */
function declaration(task: string, role: string, ...files: string[]): Readonly<Record<string, unknown>> {
  return {
    identity: { role },
    understanding: { task, confidence: 0.9, reason: "I read the code", plan: ["change it", "look again"] },
    codeView: files.map(file => ({ file, sees: "one line", will: task })),
  };
}

async function start(name: string, script: readonly (Turn | Promise<Turn>)[]): Promise<ClaudeSession> {
  await world.tools(name);
  return await world.session(name, script, { settings });
}

/** The answers of hooks that kept a tool from running, or an agent from stopping. */
function blocks({ hooks }: ClaudeSession): string[] {
  return hooks.filter(({ stdout }) => /"deny"|"decision":"block"/.test(stdout)).map(({ stdout }) => stdout);
}

describe("with strict gates", () => {
  beforeEach(() => up("strict"));

  test("an agent may look around as long as it likes, and its first write tells it all in one message", async () => {
    const looks = Array.from({ length: 50 }, (_, n) =>
      read(`toolu_look_${n}`, n % 2 === 0 ? "prices.ts" : "items.ts"),
    );
    const ann = await start("ann", [
      ...looks,
      edit("toolu_denied", "prices.ts", "n * 3", "n * 2"),
      kite("toolu_declare", "declare", declaration("double, not triple", "implementer", "prices.ts")),
      edit("toolu_done", "prices.ts", "n * 3", "n * 2"),
      say("Done."),
    ]);
    expect(await ann.ended).toBe(0);
    for (let n = 0; n < looks.length; n += 1) expect(ann.model.result(`toolu_look_${n}`).isError).toBe(false);
    const denied = ann.model.result("toolu_denied");
    expect(denied.isError).toBe(true);
    for (const field of ["identity.role", "understanding.task", "understanding.plan", "codeView: "])
      expect(denied.text).toContain(field);
    expect(ann.model.result("toolu_done").isError).toBe(false);
    expect(world.read("prices.ts")).toContain("n * 2");
    expect(blocks(ann)).toHaveLength(1);
  });

  test("the example of the denial, filled by its agent and typed in a shell, is enough", async () => {
    const answer = new Moment();
    const lines: Turn[] = [];
    const ann = await start("ann", [
      read("toolu_read", "prices.ts"),
      edit("toolu_denied", "prices.ts", "n * 3", "n * 2"),
      answer.before(say("")).then(() => lines[0] ?? say("no example")),
      edit("toolu_done", "prices.ts", "n * 3", "n * 2"),
      say("Done."),
    ]);
    await ann.asked(3);
    const { text } = ann.model.result("toolu_denied");
    const [, example = ""] = /\n(kite declare - <<'EOF'\n[\s\S]*\nEOF)/.exec(text) ?? [];
    const filled = example
      .replace('role: ""', 'role: "implementer"')
      .replace('task: ""', 'task: "double, not triple"')
      .replace("confidence: ,", "confidence: 0.9,")
      .replace('reason: ""', 'reason: "the test says so"')
      .replace('plan: [""]', 'plan: ["change it"]')
      .replace('sees: ""', 'sees: "a factor of three"')
      .replace('will: ""', 'will: "a factor of two"');
    const program = `${process.execPath} ${programs.kite}`;
    lines.push(
      bash("toolu_declare", `export KITE_HOME=${world.paths.home}; ${filled.replace("kite", program)}`),
    );
    answer.reached();
    expect(await ann.ended).toBe(0);
    expect(ann.model.result("toolu_declare")).toMatchObject({ isError: false });
    expect(ann.model.result("toolu_done").isError).toBe(false);
    expect(blocks(ann)).toHaveLength(1);
  });
});

describe("with the gates of a team", () => {
  beforeEach(() => up("team"));

  test("a lead is told whom to delegate code to, and still writes documents", async () => {
    const agent = { description: "Page", prompt: "Page it.", subagent_type: "general-purpose" };
    const looked = new Moment();
    const lead = await start("lead", [
      kite("toolu_declare", "declare", declaration("lead the work", "lead")),
      read("toolu_read", "prices.ts"),
      edit("toolu_denied", "prices.ts", "n * 3", "n * 2"),
      call("toolu_doc", "Write", { file_path: world.path("PLAN.md"), content: "1. double\n" }),
      call("toolu_agent", "Agent", { ...agent, run_in_background: false }),
      read("toolu_agent_read", "prices.ts"),
      edit("toolu_agent_edit", "prices.ts", "n * 3", "n * 2"),
      say("Done, for the lead."),
      looked.before(say("Done.")),
    ]);
    looked.reached();
    expect(await lead.ended).toBe(0);
    expect(lead.model.result("toolu_denied").text).toContain("a lead delegates code");
    expect(lead.model.result("toolu_doc").isError).toBe(false);
    expect(lead.model.result("toolu_agent_edit").isError).toBe(false);
    expect(world.read("prices.ts")).toContain("n * 2");
  });

  test("an agent that stops on an error is sent on once, with the error", async () => {
    const ann = await start("ann", [
      bash("toolu_fails", "exit 3"),
      say("I stop here."),
      bash("toolu_mended", "true"),
      say("Done."),
    ]);
    expect(await ann.ended).toBe(0);
    expect(ann.model.result("toolu_mended").isError).toBe(false);
    expect(ann.model.prompts.join("\n")).toMatch(
      /Kite: you stop on an error: your last Bash call failed: Exit code 3/,
    );
    expect(blocks(ann)).toHaveLength(1);
  });

  test("a task is not called done before its declared file is written and its question answered", async () => {
    const question = "is it called twice?";
    const ann = await start("ann", [
      kite("toolu_add", "task_create", { description: "double, not triple" }),
      kite("toolu_claim", "task_claim"),
      kite("toolu_declare", "declare", {
        ...declaration("double, not triple", "implementer", "prices.ts"),
        uncertainties: [{ question, settledBy: "a search" }],
      }),
      kite("toolu_early", "task_complete", { task: "t-", result: "done" }),
      read("toolu_read", "prices.ts"),
      edit("toolu_edit", "prices.ts", "n * 3", "n * 2"),
      bash("toolu_wait", "sleep 1"),
      kite("toolu_answer", "declare", {
        uncertainties: [{ question, evidence: "one caller", resolved: true }],
      }),
      kite("toolu_late", "task_complete", { task: "t-", result: "doubled" }),
      say("Done."),
    ]);
    expect(await ann.ended).toBe(0);
    const early = ann.model.result("toolu_early");
    expect(early.isError).toBe(true);
    expect(early.text).toContain(question);
    expect(early.text).toMatch(/prices\.ts and did not write it/);
    expect(ann.model.result("toolu_late")).toMatchObject({ isError: false });
  });
});

test("two agents that declare the same file are told of each other before either writes", async () => {
  await up("off");
  const declared = new Moment();
  // An overlap with an agent that has ended is none.
  const told = new Moment();
  const ann = await start("ann", [
    kite("toolu_ann", "declare", declaration("rename the total", "implementer", "prices.ts")),
    declared.before(read("toolu_read", "prices.ts")),
    edit("toolu_edit", "prices.ts", "total", "sum"),
    bash("toolu_look", "true"),
    say("Done."),
  ]);
  await ann.asked(2);
  const bob = await start("bob", [
    kite("toolu_bob", "declare", declaration("double, not triple", "implementer", "prices.ts")),
    told.before(say("Done.")),
  ]);
  await bob.asked(2);
  expect(bob.model.result("toolu_bob").text).toContain("rename the total");
  declared.reached();
  expect(await ann.ended).toBe(0);
  expect(ann.model.notes.join("\n")).toMatch(/declared "prices\.ts", too and will: "double, not triple"/);
  told.reached();
  expect(await bob.ended).toBe(0);
});
