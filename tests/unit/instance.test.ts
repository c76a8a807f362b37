/** One daemon a home: its directory, lock, socket and log. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { type Container, isForeignHome } from "../../daemon/instance/foreign-home.ts";
import {
  type Acquired,
  abstractMethod,
  acquireInstance,
  type Instance,
  type LockMethod,
  lockMethods,
  programMethod,
} from "../../daemon/instance/instance.ts";
import { createLog, RotatingFile, readable } from "../../daemon/instance/log.ts";
import {
  listenPrivately,
  readDaemonFile,
  socketPathError,
  unlinkStaleSocket,
  writeDaemonFile,
} from "../../daemon/instance/socket.ts";
import { limits } from "../../protocol/limits.ts";
import { type KitePaths, kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const top = temporaryFolder("ki-");
let count = 0;

/** Paths of a Kite whose directory does not exist yet. */
function fresh(): KitePaths {
  return kitePaths({ KITE_HOME: join(top, String(count++)) });
}

function instanceOf(acquired: Acquired): Instance {
  if (acquired.is !== "acquired") throw new Error(`not acquired: ${JSON.stringify(acquired)}`);
  return acquired.instance;
}

function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

async function talk(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect(path);
    socket.on("data", data => {
      heard += String(data);
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(heard));
  });
}

function saying(word: string): Server {
  return createServer(socket => socket.end(word));
}

describe("the directory", () => {
  test("is made for this user alone", async () => {
    const paths = kitePaths({ KITE_HOME: join(top, "deep", "er") });
    await instanceOf(await acquireInstance(paths)).release();
    expect(mode(paths.home)).toBe(0o700);
    expect(mode(paths.lockFile)).toBe(0o600);
  });

  test("that others may enter is refused, and left as it is", async () => {
    for (const open of [0o755, 0o710, 0o701]) {
      const paths = fresh();
      mkdirSync(paths.home);
      chmodSync(paths.home, open);
      const refused = await acquireInstance(paths);
      expect(refused).toMatchObject({ is: "refused", code: "home_unsafe" });
      expect(refused).toMatchObject({ error: expect.stringContaining(`chmod 700 ${paths.home}`) });
      expect(mode(paths.home)).toBe(open);
    }
  });

  test("of another user is refused", async () => {
    let foreign = "/";
    if (process.getuid?.() === 0) {
      foreign = fresh().home;
      mkdirSync(foreign, { mode: 0o700 });
      chownSync(foreign, 12345, 12345);
    }
    const refused = await acquireInstance(kitePaths({ KITE_HOME: foreign }));
    expect(refused).toMatchObject({ code: "home_unsafe", error: expect.stringContaining("belongs to user") });
  });

  test("behind a link, or no directory, is refused", async () => {
    const real = fresh();
    mkdirSync(real.home, { mode: 0o700 });
    const link = fresh().home;
    symlinkSync(real.home, link);
    for (const home of [link, `${link}/`]) {
      const refused = await acquireInstance(kitePaths({ KITE_HOME: home }));
      expect(refused).toMatchObject({ code: "home_unsafe", error: expect.stringContaining("symbolic link") });
    }
    const file = fresh().home;
    writeFileSync(file, "");
    expect(await acquireInstance(kitePaths({ KITE_HOME: file }))).toMatchObject({ code: "home_unsafe" });
  });

  test("too deep for a socket is refused", async () => {
    const home = join(top, "x".repeat(limits.socketPathBytes));
    const refused = await acquireInstance(kitePaths({ KITE_HOME: home }));
    expect(refused).toMatchObject({ is: "refused", code: "socket_path_long" });
    expect(existsSync(home)).toBe(false);
    expect(socketPathError("x".repeat(limits.socketPathBytes))).toBeNull();
    expect(socketPathError("é".repeat(limits.socketPathBytes - 1))).toContain("bytes");
  });
});

describe("the lock", () => {
  const methods = lockMethods({ PATH: process.env["PATH"] });

  test("can be taken in at least one way here", () => {
    expect(methods.length).toBeGreaterThan(0);
  });

  test.each(methods.map(method => [method.name, method] as const))(
    "by %s keeps others out",
    async (_, method) => {
      const paths = fresh();
      const options = { methods: [method] };
      const first = instanceOf(await acquireInstance(paths, options));
      expect(first.method).toBe(method.name);
      expect(await acquireInstance(paths, options)).toEqual({ is: "held" });
      expect(await acquireInstance(paths, options)).toEqual({ is: "held" });
      expect(first.stillOurs()).toBe(true);
      await first.release();
      await first.release();
      expect(first.stillOurs()).toBe(false);
      expect(existsSync(paths.lockFile)).toBe(true);
      await instanceOf(await acquireInstance(paths, options)).release();
    },
  );

  test("is taken another way where one does not work", async () => {
    const [good] = methods;
    if (good === undefined) throw new Error("no way to lock");
    const pretending: LockMethod = {
      name: "pretending",
      take: async () => ({ release: () => Promise.resolve() }),
    };
    const sh = { path: "/bin/sh", real: "/bin/sh" };
    const broken = [
      programMethod("missing", { path: "/does/not/exist", real: "/does/not/exist" }, []),
      programMethod("failing", sh, ["-c", "exit 4"]),
      programMethod("complaining", sh, ["-c", "echo no such option >&2; exit 1"]),
      pretending,
    ];
    const paths = fresh();
    const instance = instanceOf(await acquireInstance(paths, { methods: [...broken, good] }));
    expect(instance.method).toBe(good.name);
    expect(await acquireInstance(paths, { methods: [good] })).toEqual({ is: "held" });
    await instance.release();
    expect(await acquireInstance(paths, { methods: broken })).toMatchObject({
      is: "refused",
      code: "lock_unavailable",
      error: expect.stringContaining("pretending"),
    });
  });

  test("of two directories are two", async () => {
    for (const method of methods) {
      const one = instanceOf(await acquireInstance(fresh(), { methods: [method] }));
      const two = instanceOf(await acquireInstance(fresh(), { methods: [method] }));
      await one.release();
      await two.release();
    }
  });

  test("is waited for while nobody answers", async () => {
    const paths = fresh();
    const dying = instanceOf(await acquireInstance(paths));
    let asked = 0;
    const answering = async () => {
      asked++;
      if (asked === 2) await dying.release();
      return false;
    };
    const next = await acquireInstance(paths, { waitMs: limits.startWaitMs, answering });
    expect(next.is).toBe("acquired");
    expect(asked).toBe(2);
    const options = { waitMs: limits.startWaitMs, answering: async () => true };
    expect(await acquireInstance(paths, options)).toEqual({ is: "held" });
    expect(await acquireInstance(paths, { waitMs: 1 })).toEqual({ is: "held" });
    await instanceOf(next).release();
  });

  test("and the socket are looked at for being ours still", async () => {
    const paths = fresh();
    const instance = instanceOf(await acquireInstance(paths));
    const listening = await listenPrivately(saying(""), paths);
    instance.watchSocket(listening.fileId);
    expect(instance.stillOurs()).toBe(true);
    renameSync(paths.socket, `${paths.socket}.x`);
    expect(instance.stillOurs()).toBe(false);
    renameSync(`${paths.socket}.x`, paths.socket);
    expect(instance.stillOurs()).toBe(true);
    rmSync(paths.lockFile);
    expect(instance.stillOurs()).toBe(false);
    writeFileSync(paths.lockFile, "");
    expect(instance.stillOurs()).toBe(false);
    await listening.close();
    await instance.release();
  });

  test("by an abstract socket is named after the file", async () => {
    if (process.platform !== "linux") {
      expect(lockMethods({}).map(m => m.name)).not.toContain(abstractMethod.name);
      return;
    }
    const taken = await abstractMethod.take(0, `test:${process.pid}`);
    if (typeof taken === "string") throw new Error(taken);
    expect(await abstractMethod.take(0, `test:${process.pid}`)).toBe("held");
    await taken.release();
  });
});

describe("the socket", () => {
  function home(): KitePaths {
    const paths = fresh();
    mkdirSync(paths.home, { mode: 0o700 });
    return paths;
  }

  test("is this user's alone, and only for it the umask changes", async () => {
    const paths = home();
    const umask = process.umask();
    const listening = await listenPrivately(saying("hello"), paths);
    expect(process.umask()).toBe(umask);
    expect(mode(paths.socket)).toBe(0o600);
    expect(await talk(paths.socket)).toBe("hello");
    await listening.close();
    await listening.close();
    expect(existsSync(paths.socket)).toBe(false);
  });

  test("of a newer daemon would be removed by an older one's close, as Node does it", async () => {
    const paths = home();
    const older = saying("older");
    await new Promise<void>(resolve => older.listen(paths.socket, resolve));
    const newer = await listenPrivately(saying("newer"), paths);
    await new Promise(resolve => older.close(resolve));
    expect(existsSync(paths.socket)).toBe(false);
    await newer.close();
  });

  test("of a newer daemon outlives an older one's close, as we do it", async () => {
    const paths = home();
    const older = await listenPrivately(saying("older"), paths);
    const newer = await listenPrivately(saying("newer"), paths);
    await older.close();
    expect(await talk(paths.socket)).toBe("newer");
    await newer.close();
    expect(existsSync(paths.socket)).toBe(false);
  });

  test("left behind is removed, anything else is not", async () => {
    const paths = home();
    expect(unlinkStaleSocket(paths)).toBeNull();
    const server = saying("");
    await new Promise<void>(resolve => server.listen(`${paths.socket}.tmp`, resolve));
    renameSync(`${paths.socket}.tmp`, paths.socket);
    await new Promise(resolve => server.close(resolve));
    expect(lstatSync(paths.socket).isSocket()).toBe(true);
    expect(unlinkStaleSocket(paths)).toBeNull();
    expect(existsSync(paths.socket)).toBe(false);
    writeFileSync(paths.socket, "precious");
    expect(unlinkStaleSocket(paths)).toMatchObject({ is: "refused", code: "not_a_socket" });
    expect(existsSync(paths.socket)).toBe(true);
  });

  test("is not longer while it is made than when it is there", () => {
    // The kernel's highest process number is 2 ** 22 on Linux, 99,999 on macOS.
    expect(`.${(2 ** 22).toString(36)}`.length).toBeLessThanOrEqual("kite.sock".length);
  });

  test("that cannot be made is an error", async () => {
    await expect(listenPrivately(saying(""), fresh())).rejects.toThrow("listen");
  });
});

test("the daemon's file is read as it was written, and damage is nothing", () => {
  const paths = fresh();
  mkdirSync(paths.home);
  expect(readDaemonFile(paths)).toBeNull();
  const file = {
    pid: 1,
    startTime: "then",
    version: "0.1.0",
    protocol: 1,
    storeId: "abc",
    epoch: 2,
    socket: paths.socket,
  };
  writeDaemonFile(paths, file);
  writeDaemonFile(paths, { ...file, epoch: 3 });
  expect(readDaemonFile(paths)).toEqual({ ...file, epoch: 3 });
  expect(mode(paths.daemonFile)).toBe(0o600);
  for (const damage of [
    "",
    "{",
    "null",
    "[]",
    JSON.stringify({ ...file, pid: "1" }),
    " ".repeat(limits.smallFileBytes + 1),
  ]) {
    writeFileSync(paths.daemonFile, damage);
    expect(readDaemonFile(paths)).toBeNull();
  }
});

describe("a home of another user", () => {
  const bind = "2 1 8:1 /home/u/.kite /home/v/.kite rw";
  const volume = "2 1 8:1 /var/lib/docker/volumes/home/_data /home/v/.kite rw";
  const host = "mnt:[4026531832] pid:[4026531836]";
  const inside: Container = {
    namespaces: "mnt:[4026532567] pid:[4026532570]",
    before: host,
    table: `1 0 0:9 / / rw\n${bind}`,
    hasPairs: false,
  };

  it.each<[string, Partial<Container>, boolean]>([
    ["a directory that is mounted where the host's daemon was", {}, true],
    ["one that KITE_MOUNTS says is shared", { before: "", hasPairs: true }, true],
    ["one of which no table tells", { table: "", before: "", hasPairs: true }, true],
    ["one in which no host's daemon was", { before: "" }, false],
    ["one that containers share, one after the other", { before: "mnt:[3] pid:[4026532999]" }, false],
    ["a directory of the container's own", { table: "1 0 0:9 / / rw", hasPairs: true }, false],
    ["a volume of the container", { table: `1 0 0:9 / / rw\n${volume}`, hasPairs: true }, false],
    ["the host itself", { namespaces: host, before: "mnt:[1] pid:[2]", hasPairs: true }, false],
    ["the container of the last daemon", { before: inside.namespaces, hasPairs: true }, false],
    ["a system without namespaces", { namespaces: "", hasPairs: true }, false],
  ])("%s", (_what, container, isForeign) => {
    expect(isForeignHome("/home/v/.kite", { ...inside, ...container })).toBe(isForeign);
  });
});

describe("the log of a daemon", () => {
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
});
