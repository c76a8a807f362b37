import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isBelow, MountTable, MountView, readPairs } from "../../daemon/facts/mounts.ts";

const host = `27 1 8:1 / / rw - ext4 /dev/sda1 rw
22 27 0:21 / /proc rw - proc proc rw
30 27 8:2 / /data rw - ext4 /dev/sda2 rw
31 27 8:1 /home/u/app /mnt/again rw - ext4 /dev/sda1 rw`;

const container = `500 400 0:57 / / rw - overlay overlay rw
501 500 0:60 / /proc rw - proc proc rw
502 500 8:1 /home/u/app /workspaces/app rw - ext4 /dev/sda1 rw
503 502 8:1 /var/lib/docker/volumes/nm/_data /workspaces/app/node_modules rw - ext4 /dev/sda1 rw
504 500 8:1 /home/u/.kite /home/vscode/.kite rw - ext4 /dev/sda1 rw
505 500 8:2 /with\\040blank /srv/with\\040blank rw - ext4 /dev/sda2 rw`;

function viewOf(pairs: string, inside: string | null = container, outside = host): MountView {
  const read = readPairs(pairs);
  if ("wrong" in read) throw new Error(read.wrong);
  const table = inside === null ? null : new MountTable(inside);
  // The overlay of its root is not this user's to see.
  const hidden = new Set(table?.rows.filter(({ device }) => device === "0:57"));
  return new MountView({
    ...{ name: "7", inside: table, hidden, outside: new MountTable(outside), pairs: read },
    hidesProcesses: true,
  });
}

describe("the view of a container", () => {
  it.each([
    ["/workspaces/app", "/home/u/app"],
    ["/workspaces/app/src/a.ts", "/home/u/app/src/a.ts"],
    ["/workspaces/app/src/", "/home/u/app/src/"],
    ["/workspaces/app/../app//b", "/home/u/app/b"],
    ["/workspaces/app/node_modules/x", "/var/lib/docker/volumes/nm/_data/x"],
    ["/home/vscode/.kite/kite.sock", "/home/u/.kite/kite.sock"],
    ["/srv/with blank/f", "/data/with blank/f"],
    ["/tmp/x", "/container:7/tmp/x"],
    ["/home/u/app/a.ts", "/container:7/home/u/app/a.ts"],
    ["/workspaces/app/../../etc/passwd", "/container:7/etc/passwd"],
    ["/workspaces/application", "/container:7/workspaces/application"],
    ["/proc/1/stat", "/container:7/proc/1/stat"],
    ["/", "/container:7"],
    ["src/a.ts", "src/a.ts"],
    ["@db", "@db"],
    ["", ""],
  ])("knows %s as %s", (inside, outside) => {
    const view = viewOf("");
    expect(view.inward(inside)).toBe(outside);
    if (inside.startsWith("/")) expect(view.outwardPath(outside)).toBe(posix.normalize(inside));
  });

  it("keeps a relative name that means the same from there, and no other", () => {
    const view = viewOf("");
    expect(view.inwardFrom("/workspaces/app", "src/a.ts")).toBe("src/a.ts");
    expect(view.inwardFrom("/workspaces/app/src", "../b.ts")).toBe("../b.ts");
    expect(view.inwardFrom("/workspaces/app", "../other/a.ts")).toBe("/container:7/workspaces/other/a.ts");
    expect(view.inwardFrom("/workspaces/app", "node_modules/x")).toBe("/var/lib/docker/volumes/nm/_data/x");
    expect(view.inwardFrom("", "../x")).toBe("../x");
  });

  it("words what it says in the container's paths", () => {
    const view = viewOf("");
    expect(view.outward("alice holds /home/u/app/src/a.ts, as '/home/u/app'.")).toBe(
      "alice holds /workspaces/app/src/a.ts, as '/workspaces/app'.",
    );
    expect(view.outward("/home/u/application and /x/home/u/app and /home/u/app.bak")).toBe(
      "/home/u/application and /x/home/u/app and /home/u/app.bak",
    );
    expect(view.outward("/container:7/tmp/x and /container:7")).toBe("/tmp/x and /");
    const row = { file: "/home/u/app/a", value: "/home/u/app/a", next: "/home/u/app/a", n: [1, null] };
    expect(view.outwardAll(row)).toEqual({ ...row, file: "/workspaces/app/a" });
    expect(view.outwardLine(`${JSON.stringify({ path: "/home/u/app" })}\n`)).toBe(
      '{"path":"/workspaces/app"}\n',
    );
    expect(view.outwardLine("\n")).toBe("\n");
  });

  it("takes pairs before the table, but not over another mount", () => {
    const view = viewOf("/workspaces/app=/data/clone:/tmp/shared=/data/shared");
    expect(view.inward("/workspaces/app/a")).toBe("/data/clone/a");
    expect(view.inward("/workspaces/app/node_modules/x")).toBe("/var/lib/docker/volumes/nm/_data/x");
    expect(view.inward("/tmp/shared/a")).toBe("/data/shared/a");
    expect(viewOf("/w=/home/u/app", null).inward("/w/a")).toBe("/home/u/app/a");
    expect(viewOf("/w=/home/u/app", null).inward("/x/a")).toBe("/container:7/x/a");
    // On this machine another filesystem covers a part of the folder.
    expect(viewOf("/w=/", null).inward("/w/data/a")).toBe("/container:7/w/data/a");
  });

  it("is the same paths where only the namespace is another one", () => {
    const view = viewOf("", host);
    expect(view.inward("/home/u/app/a")).toBe("/home/u/app/a");
    expect(view.inward("/mnt/again/a")).toBe("/home/u/app/a");
    expect(view.outward("/home/u/app/a")).toBe("/home/u/app/a");
  });
});

describe("pairs", () => {
  it.each([
    "x",
    "/a",
    "/a=b",
    "a=/b",
    "/a=/b/../c",
    "/a/./b=/c",
    "=/b",
    "/a=/b:/a=/c",
    Array(65).fill("/a=/b").join(":"),
  ])("%s are refused", text => {
    expect(readPairs(text)).toEqual({ wrong: expect.any(String) });
  });

  it("may end with slashes, and be the same twice", () => {
    const pair = { inside: "/a", outside: "/b" };
    expect(readPairs("/a/=/b:/a=/b/: :")).toEqual([pair]);
    expect(readPairs("")).toEqual([]);
  });
});

const word = fc.constantFrom(
  "a",
  "b",
  "home",
  "u",
  "app",
  "workspaces",
  "..",
  ".",
  "",
  "node_modules",
  "x y",
);
const path = fc.array(word, { maxLength: 7 }).map(words => `/${words.join("/")}`);

describe("whatever a container names", () => {
  it("is a file that its mounts show, or one that this machine does not have", () => {
    const view = viewOf("");
    const reached = ["/home/u/app", "/home/u/.kite", "/data/with blank", "/var/lib/docker/volumes/nm/_data"];
    fc.assert(
      fc.property(path, name => {
        const outside = view.inward(name);
        expect(posix.normalize(outside)).toBe(outside);
        expect(
          view.isPrivate(outside.replace(/(?<=.)\/$/, "")) || reached.some(at => isBelow(at, outside)),
        ).toBe(true);
        expect(view.outwardPath(outside)).toBe(posix.normalize(name));
      }),
    );
  });

  it("is the same file by a relative name", () => {
    const view = viewOf("");
    fc.assert(
      fc.property(path, path, (base, name) => {
        const from = view.inward(base);
        const named = view.inwardFrom(base, name.slice(1));
        const meant = name.slice(1).startsWith("/") ? name.slice(1) : posix.join(base, name.slice(1));
        expect(posix.resolve(from, named)).toBe(posix.resolve("/", view.inward(meant)));
      }),
    );
  });

  it("makes no table and no pairs throw", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), path, (table, pairs, name) => {
        const lines = `${table}\n1 2 8:1 ${table} /${table}\n2 1 8:1 / / rw\n1 1 8:1 / / rw`;
        expect(() => new MountTable(lines).placeOf(posix.normalize(name))).not.toThrow();
        expect(() => readPairs(pairs)).not.toThrow();
      }),
    );
  });
});

it("a mount over another one hides what is below it", () => {
  const table = new MountTable(`1 0 8:1 / / rw
2 1 8:2 / /a/b rw
3 1 8:3 / /a rw
4 3 8:4 /r /a rw
5 4 8:5 /gone//deleted /a/c rw`);
  expect(table.placeOf("/a/b/x")).toEqual({ device: "8:4", path: "/r/b/x" });
  expect(table.placeOf("/a")).toEqual({ device: "8:4", path: "/r" });
  expect(table.placeOf("/a/c/x")).toBeNull();
  expect(table.pathsOf({ device: "8:2", path: "/x" })).toEqual([]);
  expect(new MountTable("").placeOf("/a")).toBeNull();
});
