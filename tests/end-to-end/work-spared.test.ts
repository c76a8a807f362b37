/** What the trail says of a denied command and of hooks' answers: lines that would have been wiped, and characters. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { RescueWorld } from "./rescue-world.ts";

const world = new RescueWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

/** Two sessions in a repository of their own, of which the first has written these files. */
async function twoAt(name: string, written: Readonly<Record<string, string>>) {
  const dir = world.repo(name, ["a.ts", "b.ts"]);
  const [owner, other] = [`${name}-owner`, `${name}-other`];
  for (const session of [owner, other])
    await world.event(session, dir, { hook_event_name: "SessionStart", source: "startup" });
  for (const [file, text] of Object.entries(written)) await world.write(owner, dir, file, text);
  return { dir, other };
}

async function sparedBy(session: string): Promise<readonly Partial<TrailLine>[]> {
  await world.settled();
  const lines = await world.trail(session);
  return lines
    .filter(({ event }) => event === "work_spared")
    .map(({ type, decision, files, lines: counted }) => ({
      type,
      decision,
      files,
      ...(counted === undefined ? {} : { lines: counted }),
    }));
}

describe("lines that a denied command would have wiped", () => {
  test("are those that no commit has, of files that git knows and of new ones", async () => {
    const { dir, other } = await twoAt("several", {
      "a.ts": "a.ts\none\ntwo\n",
      "new.ts": "1\n2\n3",
      // The commit has this line, and the work is to leave it out.
      "b.ts": "",
    });
    expect(await world.line(other, dir, "git stash -u", () => {})).toContain('"deny"');
    expect(await world.line(other, dir, "rm a.ts", () => {})).toContain('"deny"');
    expect(await sparedBy(other)).toEqual([
      { type: "git stash push", decision: "event", files: 3, lines: 5 },
      { type: "rm", decision: "event", files: 1, lines: 2 },
    ]);
  });

  test("are none of those that git stores with other line ends", async () => {
    const { dir, other } = await twoAt("returns", { "a.ts": "a.ts\r\none\r\n" });
    expect(await world.line(other, dir, "git reset --hard", () => {})).toContain('"deny"');
    expect(await sparedBy(other)).toMatchObject([{ type: "git reset --hard", files: 1, lines: 1 }]);
  });

  test("have no number if a file is no text", async () => {
    const { dir, other } = await twoAt("binary", { "a.ts": "a.ts\none\n", "b.ts": "b\0\n" });
    expect(await world.line(other, dir, "git checkout .", () => {})).toContain('"deny"');
    expect(await sparedBy(other)).toEqual([{ type: "git checkout", decision: "event", files: 2 }]);
  });

  test("have no line if the command would commit them, or runs", async () => {
    const { dir, other } = await twoAt("commits", { "a.ts": "a.ts\none\n" });
    expect(await world.line(other, dir, "git commit -qam x", () => {})).toContain('"deny"');
    expect(await world.line(other, dir, "git checkout -- b.ts", () => {})).not.toContain('"deny"');
    expect(await sparedBy(other)).toEqual([]);
  });
});

test("a hook's line says how long its answer is, and says nothing of an empty one", async () => {
  const { dir, other } = await twoAt("answers", { "a.ts": "a.ts\none\n" });
  const call = world.call("Bash", { command: "git stash" });
  const said = await world.event(other, dir, { hook_event_name: "PreToolUse", ...call });
  await world.event(other, dir, { hook_event_name: "Stop" });
  const lines = (await world.trail(other)).filter(
    ({ decision, ms }) => decision === "event" && ms !== undefined,
  );
  const [denied, stopped] = ["PreToolUse", "Stop"].map(name => lines.find(({ event }) => event === name));
  expect(said.length).toBeGreaterThan(100);
  expect(denied).toMatchObject({ chars: said.length });
  expect(stopped).not.toHaveProperty("chars");
});
