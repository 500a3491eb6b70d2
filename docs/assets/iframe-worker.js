// Browsers start no worker in a page that was opened from a folder, and the search runs in one. So there, and only
// there, its script runs in a hidden frame that is spoken to as if it were a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = async (...urls) => {
        for (const each of urls) await load(this.inside.document, each)
      }
      this.ready = load(this.inside.document, url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
  function load(page, url) {
    return new Promise((done, failed) => {
      const script = page.createElement("script")
      script.src = new URL(url, location.href)
      script.onload = done
      script.onerror = failed
      page.body.append(script)
    })
  }
}
