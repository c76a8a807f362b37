import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { bootId, machineId, machineName } from "../../daemon/store/machine.ts";
import { limits } from "../../protocol/limits.ts";
import { plain } from "../../protocol/text.ts";
import { temporaryFolder } from "../temporary-folder.ts";

describe("the name of a machine", () => {
  it.each([
    ["laptop", "laptop"],
    ["Laptop.local", "Laptop"],
    ["ip-10-0-0-5.eu-west-1.compute.internal", "ip-10-0-0-5"],
    ["10.0.0.5", "10.0.0.5"],
    ["::1", "::1"],
    [".laptop", "laptop"],
    ["ada's laptop", "ada's-laptop"],
    ["ada@laptop", "ada-laptop"],
    ["lap\u202etop\n", "laptop"],
    ["<b>", "‹b›"],
    ["", "machine"],
    ["...", "machine"],
    ["\u200b", "machine"],
    ["x".repeat(64), `${"x".repeat(31)}…`],
  ])("of %j is %j", (host, name) => {
    expect(machineName(host)).toBe(name);
  });

  it("is one clean word within its bound, whatever the host is called", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 100 }), points => {
        const host = String.fromCodePoint(...points);
        const name = machineName(host);
        expect(name).toBe(plain(name));
        expect(name).toMatch(/^[^\s@]+$/);
        expect(name.length).toBeLessThanOrEqual(limits.machineNameChars);
      }),
    );
  });

  it("is that of this machine", () => {
    expect(machineName()).toMatch(/^\S+$/);
  });
});

describe("the id of a machine", () => {
  const id = "0123456789abcdef0123456789abcdef";

  test("is that of the first file that has one, else the host's name", () => {
    const folder = temporaryFolder();
    const files = [join(folder, "machine-id"), join(folder, "dbus")];
    expect(machineId(files, "Laptop.local")).toBe("name laptop");
    writeFileSync(files[1] ?? "", `${id}\n`);
    expect(machineId(files, "laptop")).toBe(`id ${id}`);
    writeFileSync(files[0] ?? "", `${id.toUpperCase().replace("0", "F")}`);
    expect(machineId(files, "laptop")).toBe(`id ${id.replace("0", "f")}`);
  });

  test.each(["", "uninitialized\n", "0".repeat(32), `${id}0`, id.slice(1), id.repeat(100)])(
    "is not what a file has in its place: %#",
    text => {
      const file = join(temporaryFolder(), "machine-id");
      writeFileSync(file, text);
      expect(machineId([file], "laptop.example.com")).toBe("name laptop");
    },
  );

  test("is not a folder", () => {
    const file = join(temporaryFolder(), "machine-id");
    mkdirSync(file);
    expect(machineId([file], "laptop")).toBe("name laptop");
  });

  test("of this machine stays", () => {
    expect(machineId()).toMatch(/^(?:id [0-9a-f]{32}|name \S*)$/);
    expect(machineId()).toBe(machineId());
  });
});

it("tells a start of the machine from others where the system says which it is", () => {
  expect(bootId("/nowhere/boot_id")).toBe("");
  if (process.platform === "linux") expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
  expect(bootId()).toBe(bootId());
});
