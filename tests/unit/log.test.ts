import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLog, RotatingFile, readable } from "../../daemon/instance/log.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("kite-log-");
let count = 0;

const fresh = () => join(top, `daemon-${count++}.log`);

test("a line is in the file at once, and in the foreground as a person reads it", () => {
  const path = fresh();
  const shown: string[] = [];
  const { logger, close } = createLog(path, { foreground: line => shown.push(line) });
  logger.info({ socket: "/s", sessions: 2 }, "listening");
  logger.debug("not at this level");
  logger.warn("odd");
  const lines = readFileSync(path, "utf8").trim().split("\n");
  expect(lines.map(l => JSON.parse(l))).toMatchObject([
    { level: "info", msg: "listening", socket: "/s", sessions: 2, pid: process.pid },
    { level: "warn", msg: "odd" },
  ]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(shown[0]).toMatch(/^\d\d:\d\d:\d\d listening socket=\/s sessions=2\n$/);
  expect(shown[1]).toMatch(/^\d\d:\d\d:\d\d warn: odd\n$/);
  close();
});

test("an error is logged with its message and where it came from", () => {
  const path = fresh();
  const { logger, close } = createLog(path, { level: "error" });
  logger.error({ err: new Error("broken") }, "stopped");
  close();
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
    msg: "stopped",
    err: { message: "broken" },
  });
});

test("nothing in a name steers a terminal", () => {
  const line = JSON.stringify({ level: "info", msg: "a\u001b[31m\nb", file: "x\u202ey\u0007" });
  expect(readable(line)).toBe("a [31m b file=xy\n");
});

test("a full file moves aside, and only so many are kept", () => {
  const path = fresh();
  const file = new RotatingFile(path, { fileBytes: 20, filesMax: 3 });
  for (const word of ["one", "two", "three", "four"]) file.write(`${word} ${"x".repeat(15)}\n`);
  file.close();
  const first = (name: string) => readFileSync(name, "utf8").split(" ")[0];
  expect([path, `${path}.1`, `${path}.2`].map(first)).toEqual(["four", "three", "two"]);
  expect(existsSync(`${path}.3`)).toBe(false);
});

test("a file goes on where it was", () => {
  const path = fresh();
  for (const word of ["one\n", "two\n"]) {
    const file = new RotatingFile(path, { fileBytes: 7 });
    file.write(word);
    file.close();
  }
  expect(readFileSync(path, "utf8")).toBe("two\n");
  expect(readFileSync(`${path}.1`, "utf8")).toBe("one\n");
});

test("what cannot be written is counted and said when it can", () => {
  const path = fresh();
  mkdirSync(path);
  const file = new RotatingFile(path);
  file.write("lost\n");
  file.write("lost\n");
  expect(file.lost).toBe(2);
  rmSync(path, { recursive: true });
  file.write("there\n");
  expect(file.lost).toBe(0);
  const lines = readFileSync(path, "utf8").trim().split("\n");
  expect(lines).toEqual([expect.stringContaining("2 log lines lost"), "there"]);
  file.close();
});
