// Unpacks the data of the command: gzip of a JSON header and columns of numbers (shoe/report/page/rescoring.py).

const TYPES = {
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array, f8: Float64Array,
};

/** Unpack base64 text. */
export async function unpack(text) {
  const zipped = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = await new Response(stream).arrayBuffer();
  const length = new DataView(bytes).getUint32(0, true);
  const { columns, value } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  const made = columns.map(([type, offset, size]) => new TYPES[type](bytes, start + offset, size));
  return restored(value, made);
}

function restored(value, columns) {
  if (Array.isArray(value)) return value.map((each) => restored(each, columns));
  if (value === null || typeof value !== "object") return value;
  if ("$column" in value) return columns[value.$column];
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, restored(each, columns)]));
}
