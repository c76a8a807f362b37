/** What a person sees of the real client's sessions: where each is. */
import { beforeEach, expect, test } from "vitest";
import { hasTmux } from "./panes.ts";
import { programs } from "./programs.ts";
import { Moment, say } from "./script.ts";
import { World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await World.create(programs);
  await world.up();
  return () => world.dispose();
});

test("a session in a pane of tmux is named with its pane, and go says how to get there", async () => {
  if (!hasTmux()) {
    await expect(world.kite("go", "nobody")).rejects.toThrow("no agent is called nobody");
    return;
  }
  const done = new Moment();
  const team = await world.panes("lead", [done.before(say("Done."))]);
  await team.model.asked(1);
  const row = (await world.status()).sessions.find(({ id }) => id === team.id);
  const went = await world.kite("go", row?.name ?? "");
  expect(went.replaceAll(/\s+/g, " ")).toMatch(
    /is in pane %0 of tmux\. To see it: tmux -S \S+ attach -t 0:0\.0/,
  );
  expect(await world.kite("status", "--sessions")).toContain("tmux %0");
  done.reached();
});
