/** The status line of the real client, around one that its person had before. */
import { readFileSync } from "node:fs";
import { beforeEach, expect, test } from "vitest";
import { programs } from "./programs.ts";
import { Moment, say } from "./script.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs, false);
  await world.up();
  return () => world.dispose();
});

test("a person sees Kite's line below the line that was there before", async () => {
  const own = `echo mine in $0 | tee ${world.path("shell.txt")}`;
  await world.kiteFor("first", "install");
  await world.putSettings("first", {
    ...world.settings("first"),
    statusLine: { type: "command", command: own },
  });
  await world.kiteFor("first", "install", "--statusline");
  const asked = new Moment();
  const script = [asked.before(say("Done."))];
  const session = await world.interactive("first", script, { settings: world.settings("first") });
  await session.asked(1);
  const [row] = (await world.status()).sessions;
  // The client draws only what changed, so of later lines not every letter comes.
  await session.shows(`mine in /bin/sh kite: ${row?.name} · no locks`);
  asked.reached();
  expect(readFileSync(world.path("shell.txt"), "utf8")).toBe("mine in /bin/sh\n");
});
