/** A hook's wait that is given up, and asked for again. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { GuardWorld } from "./guard-world.ts";

const w = new GuardWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

it("an edit whose client went away while it waited is answered when the same tool use asks again", async () => {
  const dir = w.repo("r");
  const [ann, bob] = ["ann", "bob"];
  for (const session of [ann, bob]) await w.begin(session, dir);
  const events = await w.client();
  await events.ask({ type: "subscribe", events: ["lock_queued", "lock_wait_ended"] });
  const holder = await w.client();
  const file = `${dir}/a.ts`;
  await holder.ask({ type: "file_lock", id: bob, file, bind: true });
  const asked = { do: "lock", session: ann, cwd: dir, file, toolUseId: "again", waitMs: 30_000 };
  const edit = { ...asked, promptId: null, ancestors: [], parentFile: null, overwrites: [] };
  const client = await w.client();
  client.send({ type: "hook", event: { actions: [edit] } });
  await events.event("lock_queued");
  client.destroy();
  await events.event("lock_wait_ended");
  const again = w.act(edit);
  await events.event("lock_queued");
  await holder.ask({ type: "file_unlock", id: bob, file });
  expect(await again).toMatchObject([{ did: "lock", ok: true }]);
  // Nothing was decided when the first one was given up, so nothing is shown as refused.
  expect(await holder.ask({ type: "query", target: "refusals" })).toMatchObject({ rows: [] });
});
