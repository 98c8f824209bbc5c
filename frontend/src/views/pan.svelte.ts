/** Where a picture lies in its box, and how large its pixels are. */
export interface Size {
  width: number;
  height: number;
}

const SMALLEST = 0.05;
const LARGEST = 64;

export class Pan {
  /** Screen pixels a picture pixel. */
  zoom = $state(1);
  /** Upper left corner of the picture in the box. */
  origin = $state({ x: 0, y: 0 });

  /** The whole picture, as large as the box allows. */
  fit(box: Size, picture: Size): void {
    if (!box.width) return;
    this.zoom = Math.min(box.width / picture.width, box.height / picture.height);
    this.origin = { x: (box.width - picture.width * this.zoom) / 2, y: (box.height - picture.height * this.zoom) / 2 };
  }

  /** Magnifies about a point of the box, which stays where it is. */
  by(factor: number, x: number, y: number): void {
    const next = Math.min(LARGEST, Math.max(SMALLEST, this.zoom * factor));
    this.origin = { x: x - ((x - this.origin.x) * next) / this.zoom, y: y - ((y - this.origin.y) * next) / this.zoom };
    this.zoom = next;
  }

  drag(x: number, y: number): void {
    this.origin = { x: this.origin.x + x, y: this.origin.y + y };
  }
}
