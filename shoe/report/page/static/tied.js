// Average precision with equal scores: the mean over the orders of entries with equal scores.
//
// Up to MOST_LISTED orders are enumerated. For more orders, the mean is over random orders from the same random numbers
// as in `shoe score`, so that both give the same result.

const MOST_LISTED = 5040;
const DRAWS = 128;
const MOST_HELD = 2 ** 18; // maximum number of cached positions per draw
const SEED = 20151215;
const MOST = 2 ** 21; // factor for 32-bit numbers: products are exact in a JavaScript number (2 ** 53)

/**
 * All-points average precision.
 * @param groups groups of equal score with credit, by decreasing score: {above: number of entries with a higher score,
 *   size: number of entries with this score, credits: the credits above 0}
 * @param number index of the class, the seed of random orders
 */
export function tiedAveragePrecision(groups, number, truths, epsilon) {
  const length = groups.reduce((all, { credits }) => all + credits.length, 0);
  const ranks = new Float64Array(length);
  const gains = new Float64Array(length);
  const open = [];
  let start = 0;
  for (const { above, size, credits } of groups) {
    const falling = credits.length > 1 ? Float64Array.from(credits).sort().reverse() : credits;
    falling.forEach((credit, i) => {
      ranks[start + i] = above + 1 + i;
      gains[start + i] = credit;
    });
    const certain = falling.length === size && falling[0] === falling[size - 1];
    if (!certain) open.push({ above, size, credits: falling, start });
    start += falling.length;
  }
  if (!open.length) return averagePrecision(ranks, gains, truths, epsilon);
  const orders = open.reduce((all, { size, credits }) => all * permutations(size, credits.length), 1);
  let sum = 0;
  let times = 0;
  for (const positions of orders <= MOST_LISTED ? listed(open) : drawn(open, number)) {
    open.forEach((group, g) => place(group, positions[g], ranks, gains));
    sum += averagePrecision(ranks, gains, truths, epsilon);
    times++;
  }
  return sum / times;
}

/** Write the ranks and credits of a group, by ascending rank, if its members with credit have these positions. */
function place({ above, credits, start }, positions, ranks, gains) {
  const members = credits.length;
  const keys = new Float64Array(members);
  for (let i = 0; i < members; i++) keys[i] = positions[i] * members + i;
  if (members > 1) keys.sort();
  for (let i = 0; i < members; i++) {
    ranks[start + i] = above + 1 + Math.floor(keys[i] / members);
    gains[start + i] = credits[keys[i] % members];
  }
}

/** Area under the envelope of a precision-recall curve, from ascending ranks and their credits. */
export function averagePrecision(ranks, credits, truths, epsilon) {
  let credit = 0;
  for (let i = 0; i < credits.length; i++) credit += credits[i];
  let [highest, area] = [0, 0];
  for (let i = ranks.length - 1; i >= 0; i--) {
    highest = Math.max(highest, credit / (ranks[i] + epsilon));
    area += credits[i] * highest;
    credit -= credits[i];
  }
  return area / (truths + epsilon);
}

function permutations(size, members) {
  let product = 1;
  for (let i = 0; i < members; i++) product *= size - i;
  return product;
}

/** Enumerate all assignments of the members of each group to distinct positions in the group. */
function* listed(groups, chosen = []) {
  if (chosen.length === groups.length) {
    yield chosen;
    return;
  }
  const { size, credits } = groups[chosen.length];
  for (const places of arrangements(size, credits.length)) yield* listed(groups, [...chosen, places]);
}

function* arrangements(size, members, places = []) {
  if (places.length === members) {
    yield places;
    return;
  }
  for (let p = 0; p < size; p++) if (!places.includes(p)) yield* arrangements(size, members, [...places, p]);
}

/** Random orders, each followed by the reversed order. */
function* drawn(groups, number) {
  const rows = groups.map(({ size, credits }, g) => remembered(number * 65536 + g, size, credits.length));
  for (let draw = 0; draw < DRAWS; draw++) {
    const positions = rows.map((row) => row[draw]);
    yield positions;
    yield positions.map((of, g) => of.map((p) => groups[g].size - 1 - p));
  }
}

const drawnBefore = new Map();
let held = 0;

function remembered(stream, size, members) {
  const key = `${stream} ${size} ${members}`;
  if (!drawnBefore.has(key)) {
    held += members;
    if (held > MOST_HELD) {
      drawnBefore.clear();
      held = members;
    }
    drawnBefore.set(key, distinctPositions(stream, size, members));
  }
  return drawnBefore.get(key);
}

function distinctPositions(number, size, members) {
  const [stream, rows] = [new Stream(number), []];
  const few = members * members <= 2 * size;
  const [high, low] = [new Uint32Array(few ? 2 * members : size), new Uint32Array(few ? 2 * members : size)];
  for (let row = 0; row < DRAWS; row++) {
    stream.fill(high, low);
    rows.push(few ? chosen(high, low, size, members) : smallest(high, low, members));
  }
  return rows;
}

/** Floyd's sampling: if a random position was sampled before, use the last position of the current range instead. */
function chosen(high, low, size, members) {
  const positions = [];
  for (let member = 0; member < members; member++) {
    const last = size - members + member;
    const position = remainder(high[member], low[member], last + 1);
    positions.push(positions.includes(position) ? last : position);
  }
  return smallest(high.subarray(members), low.subarray(members), members).map((i) => positions[i]);
}

/** Indices of the `members` smallest 64-bit numbers, in ascending order of the numbers; assumes uniform numbers. */
function smallest(high, low, members) {
  const size = high.length;
  const likely = Math.floor((members / size) * (1 + 6 / Math.sqrt(members)) * 2 ** 32);
  let candidates = below(likely, high);
  if (candidates.length < members) candidates = below(2 ** 32, high);
  // Sort upper half and index packed in one number, which is fast; if upper halves are equal, compare all 64 bits.
  const keys = Float64Array.from(candidates, (i, place) => high[i] * MOST + place).sort();
  const clear = candidates.length <= MOST && keys.every((key, n) => n === 0 || key - keys[n - 1] >= MOST);
  if (clear) return Int32Array.from(keys.subarray(0, members), (key) => candidates[key % MOST]);
  return candidates.sort((a, b) => high[a] - high[b] || low[a] - low[b]).slice(0, members);
}

function below(limit, high) {
  const found = [];
  for (let i = 0; i < high.length; i++) if (high[i] < limit) found.push(i);
  return found;
}

function remainder(high, low, divisor) {
  return ((((high % divisor) * 65536 + (low >>> 16)) % divisor) * 65536 + (low & 65535)) % divisor;
}

/** Random numbers of a stream: SplitMix64 over a counter, each number as two halves of 32 bits. */
class Stream {
  constructor(number) {
    [this.high, this.low] = [number >>> 0, SEED];
  }

  /** Write the upper and lower halves of the next numbers into two arrays. */
  fill(highs, lows) {
    let [high, low] = [this.high, this.low];
    for (let i = 0; i < highs.length; i++) {
      let a = high ^ (high >>> 30);
      let b = low ^ ((high << 2) | (low >>> 30));
      a = upper(a, b, 0xbf58476d, 0x1ce4, 0xe5b9);
      b = Math.imul(b, 0x1ce4e5b9);
      b ^= (a << 5) | (b >>> 27);
      a ^= a >>> 27;
      a = upper(a, b, 0x94d049bb, 0x1331, 0x11eb);
      b = Math.imul(b, 0x133111eb);
      highs[i] = a ^ (a >>> 31);
      lows[i] = b ^ ((a << 1) | (b >>> 31));
      const sum = low + 0x7f4a7c15;
      high = (high + 0x9e3779b9 + (sum > 0xffffffff ? 1 : 0)) | 0;
      low = sum >>> 0;
    }
    [this.high, this.low] = [high, low];
  }
}

/** Bits 32 to 63 of the product a * b; a is given as two 32-bit halves, b as its upper half and two 16-bit quarters. */
function upper(aHigh, aLow, bHigh, b1, b0) {
  const a1 = aLow >>> 16;
  const a0 = aLow & 65535;
  const middle = Math.imul(a1, b0) >>> 0;
  const inner = (middle & 65535) + (Math.imul(a0, b0) >>> 16);
  const other = Math.imul(a0, b1) >>> 0;
  const carried = (inner + (other & 65535)) >>> 16;
  const product = Math.imul(a1, b1) + (middle >>> 16) + (other >>> 16) + carried;
  return (product + Math.imul(aHigh, (b1 << 16) | b0) + Math.imul(aLow, bHigh)) | 0;
}
