import { expect, it } from "vitest";
import { type Container, isForeignHome } from "../../daemon/instance/foreign-home.ts";

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
