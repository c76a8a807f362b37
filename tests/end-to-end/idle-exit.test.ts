/** When the daemon ends by itself: with nobody there who needs it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const home = new Home();

beforeAll(async () => {
  mkdirSync(home.paths.home, { mode: 0o700 });
  writeFileSync(home.paths.config, '{"idleExitMs": 1}');
  await home.start();
});
afterAll(() => home.dispose());

test("a connection that only looks on does not keep the daemon", async () => {
  const onlooker = await home.connect();
  await onlooker.ask({ type: "hello", client: "a page", onlooker: true });
  expect((await home.daemon.exited).code).toBe(0);
  await onlooker.ended;
});
