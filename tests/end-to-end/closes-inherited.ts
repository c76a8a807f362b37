/** A program that closes what it was given beyond its own descriptors, and says which of them were its file before and after. */
import { readdirSync, readlinkSync } from "node:fs";
import { closeInherited } from "../../bin/context/close-descriptors.ts";

const given = () =>
  readdirSync("/proc/self/fd").filter(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === process.argv[1];
    } catch {
      return false;
    }
  });
const before = given();
closeInherited(3);
setImmediate(() => console.log(JSON.stringify([before, given()])));
