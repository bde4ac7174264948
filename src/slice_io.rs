//! Images that a call takes slice by slice: in memory, or through functions of the host that read and write slices.

use crate::error::{Error, ErrorKind, Result};
use crate::image::{Image, ImageMut, PixelType};
use ndarray::{ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3};
use std::fmt;

/// A stack whose slices a function reads when they are needed, so that the stack need not fit into memory.
///
/// The function is always called on the thread that made the call, with the number of a slice, from 0, and the memory for
/// its pixels, rows one after the other in native byte order, which it must fill; the memory is aligned to the pixels'
/// type. It is called for the slices that the call needs, which are all but for region snakes, once for each in ascending
/// order; where a parameter is automatic and depends on all slices, a pass over the slices, or over some of them, comes
/// first. It may use other contexts than the one that is calling it. Calls on whole volumes (level sets, objects, the
/// converged edge strength of a volume) have all slices in memory, or in temporary files.
#[expect(clippy::type_complexity, reason = "the type of one function, written once")]
pub struct Source<'a> {
    pixel_type: PixelType,
    shape: [usize; 3],
    read: Box<dyn FnMut(usize, &mut [u8]) -> Result<()> + 'a>,
}

/// A stack whose slices are handed to a function as they are finished, so that the stack need not fit into memory.
///
/// The function is always called on the thread that made the call, once for each slice in ascending order, with the number
/// of the slice, from 0, and its pixels, rows one after the other in native byte order, aligned to their type. After an
/// error or a cancellation the slices that it has got are whole, and no more follow. It may use other contexts than the one
/// that is calling it.
#[expect(clippy::type_complexity, reason = "the type of one function, written once")]
pub struct Sink<'a> {
    pixel_type: PixelType,
    shape: [usize; 3],
    write: Box<dyn FnMut(usize, &[u8]) -> Result<()> + 'a>,
}

impl<'a> Source<'a> {
    /// Makes a source of `[width, height, depth]` pixels. An error of `read` ends the call with
    /// [`ErrorKind::CallbackFailed`] and its text.
    ///
    /// ```
    /// use isoline::{Context, Dimensions, PixelType, Sink, Source, distance::{self, Params}};
    /// use std::fs::File;
    /// use std::io::{Read, Write};
    ///
    /// # let folder = std::env::temp_dir().join(format!("isoline-stream-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # std::fs::write(folder.join("masks.raw"), vec![0u8; 64 * 48 * 100])?;
    /// // 100 masks of 64 x 48 pixels, one after the other in a file that may be larger than the memory.
    /// let mut masks = File::open(folder.join("masks.raw"))?;
    /// let mut distances = File::create(folder.join("distances.raw"))?;
    /// let shape = [64, 48, 100];
    /// let source = Source::new(PixelType::U8, shape, |_, pixels| masks.read_exact(pixels));
    /// let sink = Sink::new(PixelType::F32, shape, |_, pixels| distances.write_all(pixels));
    /// let params = Params { dimensions: Dimensions::Slices, ..Params::default() };
    /// distance::run(&Context::new("cpu")?, source.into(), &params, None, sink.into())?;
    /// assert_eq!(distances.metadata()?.len(), 64 * 48 * 100 * 4);
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<E: fmt::Display>(
        pixel_type: PixelType,
        shape: [usize; 3],
        mut read: impl FnMut(usize, &mut [u8]) -> Result<(), E> + 'a,
    ) -> Self {
        let read = move |slice: usize, pixels: &mut [u8]| {
            read(slice, pixels).map_err(|why| failed(format!("cannot read slice {slice}: {why}")))
        };
        Self { pixel_type, shape, read: Box::new(read) }
    }

    pub(crate) fn shape(&self) -> [usize; 3] {
        self.shape
    }

    pub(crate) fn read(&mut self, slice: usize, pixels: &mut [u8]) -> Result<()> {
        (self.read)(slice, pixels)
    }
}

impl<'a> Sink<'a> {
    pub(crate) fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Makes a sink of `[width, height, depth]` pixels, of the type that the operation writes. An error of `write` ends the
    /// call with [`ErrorKind::CallbackFailed`] and its text.
    pub fn new<E: fmt::Display>(
        pixel_type: PixelType,
        shape: [usize; 3],
        mut write: impl FnMut(usize, &[u8]) -> Result<(), E> + 'a,
    ) -> Self {
        let write = move |slice: usize, pixels: &[u8]| {
            write(slice, pixels).map_err(|why| failed(format!("cannot write slice {slice}: {why}")))
        };
        Self::internal(pixel_type, shape, write)
    }

    /// Makes a sink whose errors end the call as they are.
    pub(crate) fn internal(
        pixel_type: PixelType,
        shape: [usize; 3],
        write: impl FnMut(usize, &[u8]) -> Result<()> + 'a,
    ) -> Self {
        Self { pixel_type, shape, write: Box::new(write) }
    }

    pub(crate) fn write(&mut self, slice: usize, pixels: &[u8]) -> Result<()> {
        (self.write)(slice, pixels)
    }
}

fn failed(message: String) -> Error {
    Error::new(ErrorKind::CallbackFailed, message)
}

/// The input of a call that accepts slices.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// An image in memory.
    Image(Image<'a>),
    /// Slices that are read when they are needed.
    Source(Source<'a>),
}

/// An output of a call that accepts slices.
#[derive(Debug)]
#[non_exhaustive]
pub enum Output<'a> {
    /// An image in memory.
    Image(ImageMut<'a>),
    /// Slices that are handed on as they are finished.
    Sink(Sink<'a>),
}

/// Refuses slices that functions read or write where not all memory is the host's.
pub(crate) fn check_streamed<'a, 'b: 'a>(
    input: &Input<'_>,
    outputs: impl IntoIterator<Item = &'a Output<'b>>,
) -> Result<()> {
    let (mut streamed, mut on_host) = (input.is_streamed(), input.on_host());
    for output in outputs {
        streamed |= output.is_streamed();
        on_host &= output.on_host();
    }
    if streamed && !on_host {
        return Err(Error::unsupported(
            "cannot read or write slice by slice: another image is in CUDA memory; give host memory for all images",
        ));
    }
    Ok(())
}

macro_rules! of_views {
    ($side:ident, $image:ident, $($view:ident),+) => {
        $(impl<'a, T> From<$view<'a, T>> for $side<'a>
        where
            $image<'a>: From<$view<'a, T>>,
        {
            fn from(view: $view<'a, T>) -> Self {
                Self::Image(view.into())
            }
        })+
        impl<'a> From<$image<'a>> for $side<'a> {
            fn from(image: $image<'a>) -> Self {
                Self::Image(image)
            }
        }
    };
}
of_views!(Input, Image, ArrayView3, ArrayView2);
of_views!(Output, ImageMut, ArrayViewMut3, ArrayViewMut2);

macro_rules! of_functions {
    ($side:ident, $variant:ident, $image:ident) => {
        impl<'a> From<$variant<'a>> for $side<'a> {
            fn from(slices: $variant<'a>) -> Self {
                Self::$variant(slices)
            }
        }

        impl $variant<'_> {
            pub(crate) fn pixel_type(&self) -> PixelType {
                self.pixel_type
            }
        }

        impl fmt::Debug for $variant<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self { pixel_type, shape, .. } = self;
                f.debug_struct(stringify!($variant))
                    .field("pixel_type", pixel_type)
                    .field("shape", shape)
                    .finish_non_exhaustive()
            }
        }

        impl $side<'_> {
            /// Returns width, height and depth in pixels.
            pub fn shape(&self) -> [usize; 3] {
                match self {
                    Self::Image(image) => image.shape(),
                    Self::$variant(slices) => slices.shape,
                }
            }

            /// Returns the type of a pixel.
            pub fn pixel_type(&self) -> PixelType {
                match self {
                    Self::Image(image) => image.pixel_type(),
                    Self::$variant(slices) => slices.pixel_type,
                }
            }

            /// Returns whether the pixels are in host memory, where functions of the host put and get theirs, too.
            pub(crate) fn on_host(&self) -> bool {
                !matches!(self, Self::Image($image::Device(_)))
            }

            /// Returns whether functions read or write the slices.
            pub(crate) fn is_streamed(&self) -> bool {
                matches!(self, Self::$variant(_))
            }
        }
    };
}
of_functions!(Input, Source, Image);
of_functions!(Output, Sink, ImageMut);
