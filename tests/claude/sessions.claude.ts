/**
 * Sessions of the real client side by side in one repository, each with a model that plays a script; nothing but
 * `kite install --project` ties them to Kite.
 */
import { beforeEach, expect, test } from "vitest";
import type { Turn } from "./model.ts";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import type { ClaudeSession, RanHook } from "./session.ts";
import { type Status, World } from "./world.ts";

const file = "shared.txt";
/** A hold that lasts as long as its turn, however slow the machine is. */
const patient = { KITE_YIELD_MS: "45000" };
/** The limit comes soon. The yield has to be shorter, and does not come: what is in flight does not yield. */
const impatient = { KITE_LOCK_WAIT_MS: "2000", KITE_YIELD_MS: "1500" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write(file, "one\ntwo\nthree\n");
  return () => world.dispose();
});

const read = (id: string): Turn => call(id, "Read", { file_path: world.path(file) });
const edit = (id: string, from: string, to: string): Turn =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });
const write = (id: string, content: string): Turn =>
  call(id, "Write", { file_path: world.path(file), content });

/** The session comes to its end, every hook exits 0, and nothing is asked of anybody but the model. */
async function endsWell(session: ClaudeSession): Promise<void> {
  expect(await session.ended).toBe(0);
  const hooks = [...session.hooks.filter(hook => !cutOff(hook)), ...session.lastHooks];
  expect(hooks.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  const events = new Set(hooks.map(({ name }) => name.split(":")[0]));
  for (const event of ["SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"]) {
    expect(events).toContain(event);
  }
  expect(session.model.surprises).toEqual([]);
  expect(session.model.strays).toEqual([]);
}

/** A hook that nothing waits for and that still ran when the client ended: the client ends it too. */
function cutOff({ event, outcome }: RanHook): boolean {
  return outcome === "cancelled" && ["PostToolUse", "PostToolUseFailure", "Stop"].includes(event);
}

/** What the model was told at the start of the session, and what later beside the results of its calls. */
function notes({ model }: ClaudeSession): { readonly first: string; readonly later: readonly string[] } {
  const [first = "", ...later] = model.notes;
  return { first, later };
}

test("the second session's edit waits for the end of the first one's turn, and both are in the file", async () => {
  const watch = await world.up(patient);
  const [bothHaveRead, firstHasEdited, secondWaits, looked] = moments();
  const first = await world.session("first", [
    read("toolu_first_1"),
    bothHaveRead.before(edit("toolu_first_2", "one", "ONE")),
    secondWaits.before(edit("toolu_first_3", "two", "TWO")),
    looked.before(say("Done.")),
  ]);
  await first.asked(2);
  const second = await world.session("second", [
    read("toolu_second_1"),
    firstHasEdited.before(edit("toolu_second_2", "three", "THREE")),
    say("Done."),
  ]);
  await second.asked(2);
  expect(notes(second).first).toContain("1 other session works in this project");

  bothHaveRead.reached();
  await first.asked(3);
  firstHasEdited.reached();
  await watch.queued(second.id);
  secondWaits.reached();
  await first.asked(4);

  const { sessions, locks } = await world.status();
  expect(sessions.map(s => [s.id, s.status]).sort()).toEqual(
    [first.id, second.id].map(id => [id, "active"]).sort(),
  );
  expect(locks).toMatchObject([
    {
      path: world.path(file),
      kind: "turn",
      holder: { id: first.id },
      waiters: [{ id: second.id, attached: true }],
    },
  ]);
  expect(second.model.askedAtMs).toHaveLength(2);
  expect(world.read(file)).toBe("ONE\nTWO\nthree\n");

  looked.reached();
  await Promise.all([endsWell(first), endsWell(second)]);
  expect(world.read(file)).toBe("ONE\nTWO\nTHREE\n");
  for (const id of ["toolu_first_2", "toolu_first_3"]) expect(first.model.result(id).isError).toBe(false);
  expect(second.model.result("toolu_second_2").isError).toBe(false);
  expect(notes(second).later).toEqual([expect.stringContaining("the file changed while you waited")]);
  // Which lines, too, where the report of the first one's edit, which nothing waits for, was there in time.
  const who = `"${nameOf(sessions, first)}" (changed line 2 of "${file}"|held "${file}" before you)`;
  expect(notes(second).later[0]).toMatch(new RegExp(who));
  expect(watch.grants).toEqual([
    { id: first.id, waited: false },
    { id: second.id, waited: true },
  ]);
  await Promise.all([watch.ended(first.id), watch.ended(second.id)]);
  expect(await world.status()).toMatchObject({ sessions: [], locks: [], refusals: [] });
});

test("a Write of what changed meanwhile is told to read again, and then succeeds", async () => {
  const watch = await world.up(patient);
  const [firstHasEdited, secondWaits] = moments();
  const first = await world.session("first", [
    read("toolu_first_1"),
    edit("toolu_first_2", "one", "ONE"),
    secondWaits.before(edit("toolu_first_3", "two", "TWO")),
    say("Done."),
  ]);
  const second = await world.session("second", [
    firstHasEdited.before(read("toolu_second_1")),
    write("toolu_second_2", "ONE\ntwo\nTHREE\n"),
    read("toolu_second_3"),
    write("toolu_second_4", "ONE\nTWO\nTHREE\n"),
    say("Done."),
  ]);
  await first.asked(3);
  firstHasEdited.reached();
  await watch.queued(second.id);
  secondWaits.reached();

  await Promise.all([endsWell(first), endsWell(second)]);
  const denied = second.model.result("toolu_second_2");
  expect(denied.isError).toBe(true);
  expect(denied.text).toContain("read the file again, then write it. Kite keeps the lock for you");
  expect(second.model.result("toolu_second_3").text).toContain("TWO");
  expect(second.model.result("toolu_second_4").isError).toBe(false);
  expect(world.read(file)).toBe("ONE\nTWO\nTHREE\n");
});

test("at the limit the second session is told who holds the file and what to do, and later it succeeds", async () => {
  const watch = await world.up(impatient);
  const [firstHolds, firstHasEnded] = moments();
  const { settings, release } = await world.holdingEdits();
  const first = await world.session(
    "first",
    [read("toolu_first_1"), edit("toolu_first_2", "one", "ONE"), say("Done.")],
    { settings },
  );
  const second = await world.session("second", [
    read("toolu_second_1"),
    firstHolds.before(edit("toolu_second_2", "three", "THREE")),
    firstHasEnded.before(edit("toolu_second_3", "three", "THREE")),
    say("Done."),
  ]);
  await Promise.all([watch.granted(first.id), second.asked(2)]);
  firstHolds.reached();
  await second.asked(3);

  const { sessions, locks, refusals } = await world.status();
  const denied = second.model.result("toolu_second_2");
  expect(denied.isError).toBe(true);
  expect(denied.text).toContain("this Edit did not run: another agent holds the file. You waited 2 s.");
  expect(denied.text).toContain(`"${file}" is held by "${nameOf(sessions, first)}", for `);
  expect(denied.text).toContain("What to do: work on something else and try again later");
  expect(denied.text).toContain("Do not edit this file through the shell.");
  // The client's own words in front of it are few: no command line.
  expect(denied.text).toMatch(/^PreToolUse:Edit hook error: Kite: /);
  expect(locks).toMatchObject([{ path: world.path(file), kind: "turn", holder: { id: first.id } }]);
  expect(refusals).toMatchObject([{ id: second.id, code: "lock_timeout" }]);
  expect(world.read(file)).toBe("one\ntwo\nthree\n");

  await release();
  await endsWell(first);
  firstHasEnded.reached();
  await endsWell(second);
  expect(first.model.result("toolu_first_2").isError).toBe(false);
  expect(second.model.result("toolu_second_3").isError).toBe(false);
  expect(world.read(file)).toBe("ONE\ntwo\nTHREE\n");
  await Promise.all([watch.ended(first.id), watch.ended(second.id)]);
  expect(await world.status()).toMatchObject({ sessions: [], locks: [] });
});

test("a session does not block itself: its subagent edits the file that it holds", async () => {
  await world.up(patient);
  const agent = { description: "Edit", prompt: "Edit it.", subagent_type: "general-purpose" };
  const session = await world.session("session", [
    read("toolu_1"),
    edit("toolu_2", "one", "ONE"),
    call("toolu_3", "Agent", { ...agent, run_in_background: false }),
    read("toolu_agent_1"),
    edit("toolu_agent_2", "two", "TWO"),
    say("Done, for the session."),
    edit("toolu_4", "three", "THREE"),
    say("Done."),
  ]);
  await endsWell(session);
  for (const id of ["toolu_2", "toolu_agent_2", "toolu_4"]) {
    expect(session.model.result(id)).toMatchObject({ isError: false });
  }
  expect(world.read(file)).toBe("ONE\nTWO\nTHREE\n");
  expect(await world.status()).toMatchObject({ sessions: [], locks: [], refusals: [] });
});

test("the first session's process is killed: the second one's edit goes on", async () => {
  const watch = await world.up(patient);
  const [firstHasEdited, never] = moments();
  const first = await world.session("first", [
    read("toolu_first_1"),
    edit("toolu_first_2", "one", "ONE"),
    never.before(say("Done.")),
  ]);
  const second = await world.session("second", [
    read("toolu_second_1"),
    firstHasEdited.before(edit("toolu_second_2", "three", "THREE")),
    say("Done."),
  ]);
  await Promise.all([first.asked(3), second.asked(2)]);
  firstHasEdited.reached();
  await watch.queued(second.id);
  first.kill();
  await expect(first.ended).rejects.toThrow("SIGKILL");
  await endsWell(second);
  expect(second.model.result("toolu_second_2").isError).toBe(false);
  expect(world.read(file)).toBe("ONE\ntwo\nTHREE\n");
  await Promise.all([watch.ended(first.id), watch.ended(second.id)]);
  expect(await world.status()).toMatchObject({ sessions: [], locks: [] });
});

test("the daemon is put down in the middle: who waits goes on, who works goes on, who comes goes on", async () => {
  const watch = await world.up(patient);
  const [firstHasEdited, daemonIsDown] = moments();
  const first = await world.session("first", [
    read("toolu_first_1"),
    edit("toolu_first_2", "one", "ONE"),
    daemonIsDown.before(edit("toolu_first_3", "ONE", "One")),
    say("Done."),
  ]);
  const second = await world.session("second", [
    read("toolu_second_1"),
    firstHasEdited.before(edit("toolu_second_2", "two", "TWO")),
    say("Done."),
  ]);
  await Promise.all([first.asked(3), second.asked(2)]);
  firstHasEdited.reached();
  await watch.queued(second.id);

  await world.kite("down");
  await second.asked(3);
  daemonIsDown.reached();
  await Promise.all([endsWell(first), endsWell(second)]);
  const third = await world.session("third", [
    read("toolu_third_1"),
    edit("toolu_third_2", "three", "THREE"),
    say("Done."),
  ]);
  await endsWell(third);

  expect(world.read(file)).toBe("One\nTWO\nTHREE\n");
  expect(first.model.result("toolu_first_3").isError).toBe(false);
  expect(second.model.result("toolu_second_2").isError).toBe(false);
  expect(third.model.result("toolu_third_2").isError).toBe(false);
  expect([notes(second).later, notes(third).later]).toEqual([[], []]);
  await expect(world.status()).rejects.toMatchObject({
    code: 3,
    stdout: expect.stringContaining('"running":false'),
  });
});

test("the daemon is stopped in its tracks: the work goes on, and what it hears late leaves no lock behind", async () => {
  const watch = await world.up(patient);
  const [frozen] = moments();
  const session = await world.session("session", [
    read("toolu_1"),
    edit("toolu_2", "one", "ONE"),
    frozen.before(edit("toolu_3", "two", "TWO")),
    edit("toolu_4", "three", "THREE"),
    say("Done."),
  ]);
  await session.asked(3);
  world.freeze();
  frozen.reached();
  await endsWell(session);
  expect(world.read(file)).toBe("ONE\nTWO\nTHREE\n");
  for (const id of ["toolu_3", "toolu_4"]) expect(session.model.result(id).isError).toBe(false);

  world.thaw();
  await watch.ended(session.id);
  expect(await world.status()).toMatchObject({ running: true, sessions: [], locks: [] });
});

function moments(): [Moment, Moment, Moment, Moment] {
  return [new Moment(), new Moment(), new Moment(), new Moment()];
}

function nameOf(sessions: Status["sessions"], { id }: ClaudeSession): string | undefined {
  return sessions.find(s => s.id === id)?.name;
}
