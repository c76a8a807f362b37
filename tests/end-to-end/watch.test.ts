/** kite watch in a pipe, over restarts of the daemon. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "./daemon.ts";

const program = fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url));
let home: Home;

beforeEach(() => {
  home = new Home();
});
afterEach(() => home.dispose());

test("shows what happens before, between and after, each once", async () => {
  await home.start();
  const child = home.adopt(
    spawn(process.execPath, [program, "watch"], {
      env: home.environment,
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value).replace(/^\d\d:\d\d:\d\d {2}/, "");
  expect(await next()).toBe("watching  sessions: 0, locks: 0");
  await home.session("one");
  expect(await next()).toBe("began     one");
  await home.daemon.kill();
  await home.start();
  await home.session("two");
  expect(await next()).toBe("began     two");
  home.daemon.signal("SIGTERM");
  await home.daemon.exited;
  await home.start();
  await home.session("three");
  expect(await next()).toBe("began     three");
  const exited = once(child, "exit");
  child.kill("SIGINT");
  expect(await exited).toEqual([0, null]);
});

test("says that no daemon runs", async () => {
  const child = home.adopt(
    spawn(process.execPath, [program, "watch"], { env: home.environment, stdio: "pipe" }),
  );
  let said = "";
  child.stderr.on("data", chunk => {
    said += chunk;
  });
  expect(await once(child, "close")).toEqual([3, null]);
  expect(said).toContain("kite up");
});
