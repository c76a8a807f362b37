/** A debate of two sessions of the real client: one opens it for its task by the tool, the other challenges by the shell. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession } from "./session.ts";
import { World } from "./world.ts";

const settings = { permissions: { allow: ["Bash"] } };
const question = "Why does login hang?";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write("notes.md", "one\n");
  await world.up({ KITE_GATES: "team" });
});
afterEach(() => world.dispose());

const read = (id: string) => call(id, "Read", { file_path: world.path("notes.md") });
const edit = (id: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path("notes.md"), old_string: from, new_string: to });
const bash = (id: string, command: string) => call(id, "Bash", { command, description: "Look" });
const kite = (id: string, tool: string, input: Readonly<Record<string, unknown>> = {}) =>
  call(id, `mcp__kite__kite_${tool}`, input);
const debate = (id: string, verb: string, input: Readonly<Record<string, unknown>>) =>
  kite(id, "debate", { verb, ...input });
const shell = (id: string, words: string) =>
  bash(id, `KITE_HOME=${world.paths.home} ${process.execPath} ${programs.kite} ${words}`);

async function start(name: string, script: readonly (Turn | Promise<Turn>)[]): Promise<ClaudeSession> {
  await world.tools(name);
  return await world.session(name, script, { settings });
}

test("one agent opens a debate for its task, another one challenges, and the task is done after the verdict", async () => {
  const [isThere, isOpen, isChallenged, isClosed] = [new Moment(), new Moment(), new Moment(), new Moment()];
  const verdict = { debate: "1", verdict: "race", because: "It goes away on one core" };
  const ann = await start("ann", [
    kite("toolu_declare", "declare", {
      identity: { role: "implementer" },
      understanding: {
        task: "mend the hang",
        confidence: 0.5,
        reason: "two causes fit",
        plan: ["debate it"],
      },
    }),
    isThere.before(
      debate("toolu_open", "open", {
        question,
        hypotheses: [
          { name: "race", claim: "Two refresh at once" },
          { name: "leak", claim: "No memory is left" },
        ],
      }),
    ),
    kite("toolu_add", "task_create", { description: "Mend the hang", debate: "1" }),
    kite("toolu_claim", "task_claim"),
    kite("toolu_early", "task_complete", { task: "1", result: "mended" }),
    debate("toolu_alone", "close", verdict),
    isChallenged.before(debate("toolu_open_challenge", "close", verdict)),
    debate("toolu_answer", "answer", { debate: "1", challenge: 1, text: "Not on one core" }),
    debate("toolu_evidence", "evidence", {
      debate: "1",
      hypothesis: "race",
      text: "Two stacks in refresh()",
    }),
    debate("toolu_concede", "concede", { debate: "1", hypothesis: "leak" }),
    debate("toolu_close", "close", verdict),
    kite("toolu_late", "task_complete", { task: "1", result: "mended" }),
    say("Done."),
  ]);
  const bob = await start("bob", [
    read("toolu_read"),
    isOpen.before(edit("toolu_first", "one", "two")),
    shell("toolu_self", "debate concede 1 race"),
    shell("toolu_challenge", 'debate challenge 1 race "It hangs alone, too"'),
    shell("toolu_own", 'debate answer 1 1 "I was wrong"'),
    isClosed.before(edit("toolu_second", "two", "three")),
    say("Done."),
  ]);
  await bob.asked(2);
  isThere.reached();
  await ann.asked(7);
  isOpen.reached();
  await bob.asked(6);
  isChallenged.reached();
  expect(await ann.ended).toBe(0);
  isClosed.reached();
  expect(await bob.ended).toBe(0);

  expect(ann.model.result("toolu_open")).toMatchObject({ isError: false });
  const early = ann.model.result("toolu_early");
  expect(early.isError).toBe(true);
  expect(early.text).toMatch(/debate: d-\w+-1 is open; close it with a verdict/);
  expect(bob.model.notes.join("\n")).toMatch(/opens debate d-\w+-1: .*Why does login hang\?/);
  const alone = ann.model.result("toolu_alone");
  expect(alone.isError).toBe(true);
  expect(alone.text).toMatch(
    /nobody else challenged any hypothesis .*a person can force it: kite debate close/,
  );
  expect(bob.model.result("toolu_self").text).toContain('you cannot concede "race"');
  expect(bob.model.result("toolu_challenge")).toMatchObject({ isError: false });
  expect(bob.model.result("toolu_own").text).toContain(
    "is your own challenge; another agent has to answer it",
  );
  const challenged = ann.model.result("toolu_open_challenge");
  expect(challenged.text).toContain('challenge 1 to "race" is unanswered (answer it)');
  expect(challenged.text).toContain("you: verb answer, challenge 1");
  for (const id of ["toolu_answer", "toolu_evidence", "toolu_concede", "toolu_close", "toolu_late"])
    expect(ann.model.result(id), ann.model.result(id).text).toMatchObject({ isError: false });
  expect(bob.model.notes.join("\n")).toMatch(/closes debate d-\w+-1 with race/);

  const shown = JSON.parse(await world.kite("debate", "show", "1", "--json", "--project", world.repository));
  expect(shown.debate).toMatchObject({
    status: "closed",
    verdict: { name: "race", forced: false, alone: false },
  });
  expect(shown.entries).toMatchObject([
    { kind: "challenge", hypothesis: "race", by: { id: bob.id } },
    { kind: "answer", answers: 1, by: { id: ann.id } },
    { kind: "evidence", hypothesis: "race", by: { id: ann.id } },
    { kind: "concede", hypothesis: "leak", by: { id: ann.id } },
  ]);
});
