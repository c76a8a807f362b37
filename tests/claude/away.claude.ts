/**
 * Edits of the real client that end while the daemon is away: the next daemon holds nothing for them, and the next session
 * gets the file. A hook of the person's own holds each edit back until the daemon is gone.
 */
import { rmSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { programs } from "./programs.ts";
import { call, Moment, say } from "./script.ts";
import { World } from "./world.ts";

const file = "shared.txt";
const lookMs = 20;
/** Above all that a loaded machine needs. */
const awayMs = 30_000;
/** Who waits outlasts what expires after a restart, by 3 s. */
const patient = { KITE_LOCK_WAIT_MS: "8000", KITE_YIELD_MS: "1500" };

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  world.write(file, "one\ntwo\nthree\n");
});
afterEach(() => world.dispose());

const read = (id: string) => call(id, "Read", { file_path: world.path(file) });
const edit = (id: string, from: string, to: string) =>
  call(id, "Edit", { file_path: world.path(file), old_string: from, new_string: to });
const agent = { description: "Edit", prompt: "[[agent:child]] Edit it.", subagent_type: "general-purpose" };

/** Looks until it is so: there is no daemon that could tell. */
async function until(isSo: () => boolean): Promise<void> {
  await vi.waitUntil(isSo, { interval: lookMs, timeout: awayMs });
}

/** A second session edits the file: Kite denies it nothing. */
async function takenByAnother(): Promise<void> {
  const second = await world.session("second", [
    read("toolu_second_1"),
    edit("toolu_second_2", "three", "THREE"),
    say("Done."),
  ]);
  expect(await second.ended).toBe(0);
  expect(second.model.result("toolu_second_2")).toMatchObject({ isError: false });
  expect(await world.status()).toMatchObject({ refusals: [] });
}

describe.each([
  ["killed", () => world.kill()],
  ["put down", () => world.kite("down")],
] as const)("while the daemon was %s", (_, away) => {
  test("an edit and its turn ended: the next daemon holds nothing for the session, which lives", async () => {
    const watch = await world.up();
    const { settings, release } = await world.holdingEdits();
    const first = await world.interactive(
      "first",
      [read("toolu_1"), edit("toolu_2", "one", "ONE"), say("Done.")],
      { settings },
    );
    await watch.granted(first.id);
    await away();
    await release();
    await first.asked(3);
    await until(() => ["toolu_2", '"Stop"'].every(word => world.unheard().includes(word)));
    expect(first.model.result("toolu_2")).toMatchObject({ isError: false });

    await world.up();
    const { sessions, locks } = await world.status();
    expect(sessions).toMatchObject([{ id: first.id, status: "idle" }]);
    expect(locks).toEqual([]);
    await takenByAnother();
    expect(world.read(file)).toBe("ONE\ntwo\nTHREE\n");
  });

  test.each([
    ["its hooks left word", false],
    ["nothing told of it", true],
  ])("a subagent edited and ended, and %s: its session works on, and holds nothing", async (_how, isLost) => {
    const watch = await world.up();
    const { settings, release } = await world.holdingEdits();
    const looked = new Moment();
    const first = await world.interactive(
      "first",
      [
        call("toolu_agent", "Agent", agent),
        looked.before(read("toolu_1")),
        edit("toolu_2", "two", "TWO"),
        say("Done."),
        say("It has edited too."),
      ],
      {
        settings,
        mates: { child: [read("toolu_agent_1"), edit("toolu_agent_2", "one", "ONE"), say("Done.")] },
      },
    );
    await watch.granted(first.id);
    await away();
    await release();
    await first.model.asked(3, "child");
    await until(() => ["toolu_agent_2", '"SubagentStop"'].every(word => world.unheard().includes(word)));
    expect(first.model.result("toolu_agent_2")).toMatchObject({ isError: false });
    if (isLost) rmSync(world.paths.unheardEnds);

    await world.up();
    const { sessions, locks } = await world.status();
    expect(sessions).toMatchObject([{ id: first.id }]);
    expect(locks).toHaveLength(isLost ? 1 : 0);
    await takenByAnother();
    looked.reached();
    await Promise.all([release(), first.asked(4)]);
    expect(first.model.result("toolu_2")).toMatchObject({ isError: false });
    expect(world.read(file)).toBe("ONE\nTWO\nTHREE\n");
  });
});

test("a person interrupts an edit while the daemon is away, of which nobody tells: the client's file shows it", async () => {
  const watch = await world.up();
  const { settings } = await world.holdingEdits();
  const first = await world.interactive("first", [read("toolu_1"), edit("toolu_2", "one", "ONE")], {
    settings,
  });
  await watch.granted(first.id);
  await world.kill();
  first.press("\u001b");
  await until(() => world.clientStatus("first").includes("idle"));
  await world.up();
  await takenByAnother();
  expect(world.read(file)).toBe("one\ntwo\nTHREE\n");
});

test("a permission dialog stays open over a restart: its file stays held, and is free once a person answered", async () => {
  const watch = await world.up(patient);
  const first = await world.interactive(
    "first",
    [read("toolu_1"), edit("toolu_2", "one", "ONE"), say("Done.")],
    {
      settings: { permissions: { ask: ["Edit"] } },
    },
  );
  await watch.granted(first.id);
  await until(() => world.clientStatus("first").includes("waiting"));
  await world.kite("down");
  await world.up(patient);
  const answered = new Moment();
  const second = await world.session("second", [
    read("toolu_second_1"),
    edit("toolu_second_2", "three", "THREE"),
    answered.before(read("toolu_second_3")),
    edit("toolu_second_4", "three", "THREE"),
    say("Done."),
  ]);
  await second.asked(3);
  // It waited for longer than a write lasts that an earlier start saw begin and nobody told of.
  expect(second.model.result("toolu_second_2")).toMatchObject({
    isError: true,
    text: expect.stringContaining(`"${file}" is held by`),
  });
  first.press("\r");
  await first.asked(3);
  answered.reached();
  expect(await second.ended).toBe(0);
  expect(second.model.result("toolu_second_4")).toMatchObject({ isError: false });
  expect(world.read(file)).toBe("ONE\ntwo\nTHREE\n");
});
